package scorers

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// compilation makes the scorers of a suite, each once, whatever sets it is a part of.
type compilation struct {
	declared []spec.Scorer
	outside  Outside
	resolved []spec.Resolved
	baseline string
	made     map[int]*scorer // by their place; nil while it is being made
	faults   source.Faults
}

// scorer makes a scorer of the suite, or a part that a set declares.
func (a *compilation) scorer(declared *spec.Scorer) *scorer {
	c := compiler{all: a, spec: declared}
	made := c.scorer()
	a.faults = append(a.faults, c.faults...)
	return made
}

// at is the scorer of that place; nil where it is being made: it is a part of itself.
func (a *compilation) at(place int) *scorer {
	if made, begun := a.made[place]; begun {
		return made
	}
	a.made[place] = nil
	made := a.scorer(&a.declared[place])
	a.made[place] = made
	return made
}

// compiler makes one scorer and collects what is wrong with it.
type compiler struct {
	all    *compilation
	spec   *spec.Scorer
	made   *scorer
	reads  []string // the variables that its expressions read
	faults source.Faults
}

// scorer compiles the scorer; after a fault it must not be used.
func (c *compiler) scorer() *scorer {
	s := &scorer{name: c.spec.Name, hash: c.spec.Hash(), not: c.spec.Not}
	c.made = s
	k, ok := kinds()[c.spec.Type]
	if !ok {
		c.fault("type", "unknown type of scorer %q", c.spec.Type)
		return s
	}
	s.needsTarget, s.needsAnswer = k.target, k.answer
	s.asks, s.judges = c.spec.Asks(c.all.declared), c.spec.Judges(c.all.declared)
	s.pairs = k.pairs
	s.value, s.target = c.expression(c.spec.Value), c.expression(c.spec.Target)
	s.extract = c.extraction()
	s.compare = k.make(c)
	s.readsOutput = c.readsAny("output") || k.answer && s.value == nil
	s.readsBest = c.readsAny("best")
	if s.ofRun = s.ofRun || c.readsAny("stop"); s.ofRun {
		s.judges = spec.ScoreReturned
	}
	s.looksAround = s.looksAround || s.ofRun || k.course || c.readsAny("best", "iterations", "usage")
	return s
}

func (c *compiler) readsAny(names ...string) bool {
	return slices.ContainsFunc(c.reads, func(name string) bool { return slices.Contains(names, name) })
}

// expression is an expression as the loader compiled it, or compiled here; nil where there is none or after a fault.
func (c *compiler) expression(e *spec.Expr) *expr.Program {
	return c.compiled(e, expr.Scorer(expr.Any), expr.WantAny)
}

// callExpression is one that judges a tool call.
func (c *compiler) callExpression(e *spec.Expr) *expr.Program {
	return c.compiled(e, expr.ToolCall(expr.Any), expr.WantBool)
}

func (c *compiler) compiled(e *spec.Expr, env *expr.Env, want expr.Want) *expr.Program {
	if e == nil {
		return nil
	}
	program := e.Program
	if program == nil {
		var faults []expr.Fault
		program, faults = env.Compile(e.Text, want)
		for _, f := range faults {
			c.faults = append(c.faults, placed(e.Node, f))
		}
	}
	if program != nil {
		c.read(program.Reads())
	}
	return program
}

func (c *compiler) read(paths []string) {
	for _, path := range paths {
		name, rest, _ := strings.Cut(path, ".")
		c.reads = append(c.reads, name)
		if name == "task" && rest == "target" {
			c.reads = append(c.reads, rest)
		}
	}
}

// prompt is a text with expressions as the loader compiled it, or compiled here.
func (c *compiler) prompt(p *spec.Prompt) *spec.Prompt {
	if p.Template == nil {
		template, faults := expr.Rubric().Template(p.Text)
		for _, f := range faults {
			c.faults = append(c.faults, placed(p.Node, f))
		}
		p = &spec.Prompt{Text: p.Text, Node: p.Node, Template: template}
	}
	if p.Template != nil {
		c.read(p.Reads())
	}
	return p
}

// placed is a fault of an expression where that stands.
func placed(at *source.Node, f expr.Fault) source.Fault {
	if at == nil {
		at = &source.Node{}
	}
	fault := at.FaultAt(f.Offset, f.Len, f.Hint, "%s", f.What)
	fault.Warning = f.Warning
	return fault
}

// fault is one at a key of the scorer, or at the scorer. A scorer that Go code made has no place.
func (c *compiler) fault(key, format string, args ...any) {
	at := c.spec.Node
	if at == nil {
		at = &source.Node{}
	}
	c.faults = append(c.faults, at.KeyFault(key, "", format, args...))
}
