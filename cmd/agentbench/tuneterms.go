package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// terms are what a tuning is asked for: what the suite says, and over that the
// flags.
func (p *program) terms(f *termFlags, t *spec.Tune, scorers []string) (tune.ChoiceOptions, error) {
	o := optionsOf(t)
	rule, err := f.rule()
	if err != nil {
		return o, err
	}
	if rule.Rule != "" {
		rule.Cost = o.Choose.Cost
		o.Choose = rule
	}
	c := compiled{scorers: scorers}
	if f.objective != "" {
		o.Objective = c.metric("--objective", f.objective, expr.WantNumber)
	}
	if f.cost != "" {
		o.Choose.Cost = c.metric("--cost", f.cost, expr.WantNumber)
	}
	if len(f.constraints) > 0 {
		o.Constraints = nil
	}
	for _, text := range f.constraints {
		if term := c.metric("--constraint", text, expr.WantBool); term != nil {
			o.Constraints = append(o.Constraints, *term)
		}
	}
	if f.foldBy != "" {
		o.By = c.compile("--fold-by", expr.Fold(), f.foldBy, expr.WantAny)
	}
	if c.faults.Print(p.err); c.faults.Err() != nil {
		return o, quiet(wrongUsage)
	}
	f.over(&o)
	return o, nil
}

// over puts the flags that are no expressions over what the suite says.
func (f *termFlags) over(o *tune.ChoiceOptions) {
	if f.changed("minimize") {
		o.Minimize = f.minimize
	}
	switch {
	case f.changed("hold-out"):
		o.HoldOut = f.holdOut
	case f.changed("folds") && f.folds == 0:
		o.Folds, o.HoldOut = -1, 0
	case f.changed("folds"):
		o.Folds, o.HoldOut = f.folds, 0
	}
	if f.changed("seed") {
		o.Seed = uint64(f.seed)
	}
}

// optionsOf is what a suite asks for, whose expressions are compiled.
func optionsOf(t *spec.Tune) (o tune.ChoiceOptions) {
	if t == nil {
		return o
	}
	o.Objective, o.Minimize = termOf(t.Objective), t.Minimize
	for i := range t.Constraints {
		o.Constraints = append(o.Constraints, *termOf(&t.Constraints[i]))
	}
	if c := t.Choose; c != nil {
		o.Choose = tune.ChoiceRule{Rule: tune.Rule(c.Rule), Cost: termOf(c.Cost)}
		switch o.Choose.Rule {
		case tune.MaxLoss:
			o.Choose.Number = tune.DefaultMaxLoss
			if c.MaxLoss != nil {
				o.Choose.Number = *c.MaxLoss
			}
		case tune.AtLeast:
			o.Choose.Number = *c.Share
		}
	}
	if t.Folds != nil {
		o.Folds, o.By = t.Folds.K, termOf(t.Folds.By)
		if t.Folds.HoldOut != nil {
			o.HoldOut = *t.Folds.HoldOut
		}
	}
	return o
}

func termOf(e *spec.Expr) *tune.Term {
	if e == nil {
		return nil
	}
	return &tune.Term{Text: e.Text, Program: e.Program}
}

// compiled gathers what is wrong with the expressions of flags.
type compiled struct {
	scorers []string
	faults  source.Faults
}

// metric is an expression over the metrics of a configuration; it may only name
// scores that there are.
func (c *compiled) metric(flag, text string, want expr.Want) *tune.Term {
	before := len(c.faults)
	term := c.compile(flag, expr.Objective(), text, want)
	for i := before; i < len(c.faults); i++ {
		c.faults[i].Hint = c.metricHint(&c.faults[i], text)
	}
	if term == nil {
		return nil
	}
	for _, m := range spec.Misreads(configurationReads(term.Reads()), spec.Readable{Scorers: c.scorers}) {
		at := max(0, strings.Index(text, m.Name))
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: len([]rune(text[:at])) + 1},
			Len: len([]rune(m.Name)), What: "there is no scorer " + quoteName(m.Name), Hint: didYouMean(m.Name, m.Known, "there are: "+some(m.Known))})
	}
	return term
}

// metricNames are what people call metrics.
var metricNames = map[string]string{
	"cost": "cost_usd.mean", "price": "cost_usd.mean", "dollars": "cost_usd.mean", "time": "latency.mean", "seconds": "latency.mean", "duration": "latency.mean",
}

// metricHint says which number over many runs was meant where a name is none.
func (c *compiled) metricHint(f *source.Fault, text string) string {
	characters := []rune(text)
	from := min(len(characters), f.Pos.Col-1)
	name := string(characters[from:min(len(characters), from+f.Len)])
	switch {
	case f.What == "unknown name "+strconv.Quote(name) && slices.Contains(c.scorers, name):
		return fmt.Sprintf("did you mean scores[%q].mean?", printable(name))
	case f.What == "unknown name "+strconv.Quote(name) && metricNames[name] != "":
		return "did you mean " + metricNames[name] + "?"
	case f.Hint == "" && severalNumbers.MatchString(f.What):
		return "it has several numbers: say which, for example .mean"
	}
	return f.Hint
}

// severalNumbers matches the records that hold the numbers of a metric.
var severalNumbers = regexp.MustCompile(`[( ](spread|total|score)[,)]`)

// configurationReads are paths over the metrics of one configuration, as
// thresholds would read them.
func configurationReads(reads []string) (paths []string) {
	for _, path := range reads {
		if strings.HasPrefix(path, "scores.") {
			paths = append(paths, "diff."+path)
		}
	}
	return paths
}

func (c *compiled) compile(flag string, env *expr.Env, text string, want expr.Want) *tune.Term {
	program, faults := env.Compile(text, want)
	for _, f := range faults {
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: f.Offset + 1},
			Len: f.Len, What: f.What, Hint: f.Hint, Warning: f.Warning})
	}
	if program == nil {
		return nil
	}
	return &tune.Term{Text: text, Program: program}
}

func quoteName(name string) string { return `"` + printable(name) + `"` }
