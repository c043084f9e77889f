package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// compiler compiles the expressions of one place of the language.
type compiler struct {
	*loader
	env *expr.Env
	// loop is set inside a loop, where there is no target and where param is known.
	loop *Loop
}

// outputType is what expressions know of outputs before there is one.
func (l *Loop) outputType() expr.Type {
	if l.RepliesText() {
		return expr.String
	}
	return expr.Any
}

// compileLoop compiles every expression of a loop.
func (l *loader) compileLoop(loop *Loop) {
	c := compiler{l, expr.Loop(loop.outputType()), loop}
	c.prompt(loop.Prompt)
	for _, agent := range loop.agents() {
		c.prompt(agent.System)
		c.expr(agent.FinalResponse, expr.WantBool)
		c.program(agent)
	}
	c.workspace(loop.Workspace)
	for _, t := range loop.tools() {
		compiler{l, expr.Tool(), loop}.expr(t.CEL, expr.WantAny)
	}
	for i := range loop.Phases {
		c.prompt(loop.Phases[i].Prompt)
		c.condition(loop.Phases[i].Until, expr.WantBool)
		c.untilEvaluated(i)
	}
	for i := range loop.Strategies {
		c.prompt(loop.Strategies[i].Prompt)
	}
	c.conditions(loop.Terminate.Any)
	c.guards(&loop.Guards)
	c.user(loop.User)
	if loop.OnError != nil {
		c.expr(loop.OnError.ContinueIf, expr.WantBool)
	}
	if loop.Evaluate != nil {
		compiler{l, expr.Evaluate(loop.outputType()), loop}.evaluate(loop.Evaluate)
	}
}

func (c compiler) conditions(conditions []Condition) {
	for i := range conditions {
		condition := &conditions[i]
		c.condition(condition.When, expr.WantBool)
		c.condition(condition.Repeated.Of, expr.WantAny)
		c.condition(condition.Consecutive.When, expr.WantBool)
		c.conditions(condition.Nested)
	}
}

func (c compiler) guards(guards *Guards) {
	for i := range guards.Repeated {
		c.scoped(guards.Repeated[i].Scope).condition(guards.Repeated[i].Of, expr.WantAny)
	}
	for i := range guards.Consecutive {
		c.scoped(guards.Consecutive[i].Scope).condition(guards.Consecutive[i].When, expr.WantBool)
	}
}

// scoped compiles for what is asked after steps, or after iterations.
func (c compiler) scoped(scope string) compiler {
	if scope == ScopeStep {
		c.env = expr.Step(c.loop.outputType())
	}
	return c
}

// program compiles what holds CEL of an agent that is a program.
func (c compiler) program(agent *Agent) {
	agent.Arguments = nil
	in := compiler{c.loader, expr.Argument(c.loop.outputType()), c.loop}
	for i, word := range agent.Command {
		if !strings.Contains(word, "{{") {
			continue
		}
		if agent.Arguments == nil {
			agent.Arguments = make([]*Prompt, len(agent.Command))
		}
		agent.Arguments[i] = &Prompt{Text: word, Node: agent.Node.Get("command").Items[i]}
		in.prompt(agent.Arguments[i])
	}
	of := compiler{c.loader, expr.Printed(), c.loop}
	of.expr(agent.Output, expr.WantAny)
	if agent.Usage != nil {
		of.all(agent.Usage)
	}
}

func (c compiler) workspace(w *Workspace) {
	if w == nil {
		return
	}
	c.env = expr.Seed()
	c.expr(w.Files, expr.WantAny)
	if from := w.From; from != nil {
		c.expr(from.Path, expr.WantAny)
		c.prompt(from.Git)
		c.prompt(from.Ref)
	}
}

func (c compiler) user(u *User) {
	if u == nil {
		return
	}
	c.expr(u.Script, expr.WantList)
	c.prompt(u.System)
	compiler{c.loader, expr.UserUntil(), c.loop}.expr(u.Until, expr.WantBool)
}

// condition compiles an expression that ends something; without evaluate there is no confidence that it could read.
func (c compiler) condition(e *Expr, want expr.Want) {
	c.expr(e, want)
	if c.loop.Evaluate == nil && c.loop.Param != nil && e.reads("confidence", "best.confidence", "since_improvement") {
		c.fault(e.Node, noConfidence, "this reads the confidence, but the loop evaluates nothing")
	}
}

// untilEvaluated refuses an until that waits for a confidence in a phase that is not evaluated.
func (c compiler) untilEvaluated(phase int) {
	e := c.loop.Evaluate
	if e == nil || c.loop.Param == nil {
		return
	}
	first := slices.IndexFunc(c.loop.Phases, func(p Phase) bool { return p.Name == e.FromPhase })
	if until := c.loop.Phases[phase].Until; phase < first && until.reads("confidence", "best.confidence") {
		c.fault(until.Node, "let evaluate.from_phase name this phase", "this reads the confidence, but the phase %q is not evaluated", c.loop.Phases[phase].Name)
	}
}

func (c compiler) evaluate(e *Evaluate) {
	for i := range e.Checks {
		c.expr(e.Checks[i].Expr, expr.WantBool)
	}
	c.expr(e.Confidence, expr.WantNumber)
	c.expr(e.Passed, expr.WantBool)
	c.expr(e.Feedback, expr.WantString)
	if e.Passed.reads("confidence") && holdsThreshold(c.loop.Terminate.Any) {
		c.warn(e.Passed.Node, "leave passed out, and let terminate.confidence decide",
			"passed reads the confidence beside the threshold in terminate: one of them decides, and sweeping the other changes nothing")
	}
	if e.Judge != nil {
		compiler{c.loader, expr.Loop(c.loop.outputType()), c.loop}.prompt(e.Judge.Rubric)
	}
}

// expr compiles an expression, if there is one.
func (c compiler) expr(e *Expr, want expr.Want) {
	if e == nil || e.Node == nil {
		return
	}
	if strings.TrimSpace(e.Text) == "" {
		c.fault(e.Node, "write CEL or delete the key", "the expression is empty")
		return
	}
	if !c.affords(e.Node, e.Text, effortOf(e.Text)) {
		return
	}
	program, faults := c.env.Compile(e.Text, want)
	e.Program = program
	c.report(e.Node, faults)
	if program != nil {
		c.checkReads(e.Node, program.Reads())
	}
}

// wantedExpr is an expression with what its place wants of it.
type wantedExpr struct {
	*Expr
	want expr.Want
}

// wants are the words of the tag `want`. An expression without the tag may give anything; what has "-" is looked at elsewhere.
var wants = map[string]expr.Want{"bool": expr.WantBool, "string": expr.WantString, "list": expr.WantList}

// expressionsOf are the expressions that stand in a part of the language.
func expressionsOf(part any) (found []wantedExpr) {
	var walk func(v reflect.Value, want expr.Want)
	walk = func(v reflect.Value, want expr.Want) {
		switch value := v.Interface().(type) {
		case *Expr:
			if value != nil {
				found = append(found, wantedExpr{value, want})
			}
			return
		case Expr:
			found = append(found, wantedExpr{v.Addr().Interface().(*Expr), want})
			return
		case *source.Node:
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), want)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), want)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("want") != "-" {
					walk(v.Field(i), wants[f.Tag.Get("want")])
				}
			}
		}
	}
	walk(reflect.ValueOf(part).Elem(), expr.WantAny)
	return found
}

// all compiles the expressions of a part.
func (c compiler) all(part any) {
	for _, e := range expressionsOf(part) {
		c.expr(e.Expr, e.want)
	}
}

// prompt compiles a text with expressions, if there is one.
func (c compiler) prompt(p *Prompt) {
	if p == nil || p.Node == nil {
		return
	}
	if !c.affords(p.Node, p.Text, effortOfPrompt(p.Text)) {
		return
	}
	const looked, told = 1 << 20, 10 // bytes and findings: a longer prompt is no template of another tool
	for _, at := range otherTemplates.FindAllStringIndex(p.Text[:min(len(p.Text), looked)], told) {
		before, found, after := p.Text[:at[0]], p.Text[at[0]:at[1]], p.Text[at[1]:]
		if !strings.HasSuffix(before, "{") && !strings.HasPrefix(after, "}") { // it is no CEL
			c.add(p.Node.FaultAt(len([]rune(before)), len([]rune(found)), templateHint(found), "%s is sent as it stands", found).AsWarning())
		}
	}
	template, faults := c.env.Template(p.Text)
	p.Template = template
	c.report(p.Node, faults)
	if template != nil {
		c.checkReads(p.Node, template.Reads())
	}
}

// otherTemplates matches what the templates of other tools look like: ${NAME}, {% if %}, {task.input}, {input}.
var otherTemplates = regexp.MustCompile(`\$\{[A-Za-z_][\w.]*\}|\{%[^%\n]*%\}|\{(?:task\.\w+|input|question|output|feedback)\}`)

func templateHint(found string) string {
	name := strings.Trim(found, "${}%")
	switch {
	case strings.HasPrefix(found, "{%"):
		return "CEL is written in {{ }}: {{ CONDITION ? A : B }}"
	case name == "input" || name == "question":
		name = "task.input"
	case strings.HasPrefix(found, "$") && !strings.Contains(name, "."):
		return "prompts see no environment variables; CEL is written in {{ }}: {{ task.input }}"
	}
	return "write {{ " + name + " }}"
}

// report places the faults of an expression into the file.
func (c compiler) report(n *source.Node, faults []expr.Fault) {
	for _, f := range faults {
		if c.loop != nil && strings.HasPrefix(f.What, "unknown ") && strings.HasSuffix(f.What, ` "target"`) {
			f.What = "the target is not visible inside the loop"
			f.Hint = "a loop that is shown the answer cannot be scored with it; judge it in scorers"
		}
		if c.env == expr.Rubric() && strings.HasPrefix(f.What, "unknown name ") && !strings.HasPrefix(f.Hint, "did you mean") {
			f.Hint = "a rubric sees task and target; the output is shown beside it"
		}
		if c.env == expr.Seed() && strings.HasPrefix(f.What, "unknown name ") {
			f.Hint = `a path is a text: from: '"repo"'; that of the task: from: task.vars.repo`
		}
		if c.env == expr.Threshold() {
			s := c.doc.Suite
			f.Hint = cmp.Or(ThresholdHint(f.What, Readable{Configurations: s.names(), Scorers: s.scoreNames()}), f.Hint)
		}
		if c.loop != nil && f.What == `unknown name "step"` {
			f.Hint = "guards with scope: step see the step"
		}
		placed := n.FaultAt(f.Offset, max(f.Len, 1), f.Hint, "%s", f.What)
		placed.Warning = f.Warning
		c.add(placed)
	}
}

// ThresholdHint says which number of a threshold was meant where a fault is an unknown name; "" for others. The names that
// there are may not be known yet.
func ThresholdHint(what string, of Readable) string {
	name, ok := strings.CutPrefix(what, "unknown name ")
	if name = strings.Trim(name, `"`); !ok || name == "" {
		return ""
	}
	configuration, scorer := "NAME", name
	if len(of.Configurations) > 0 {
		configuration = of.Configurations[0]
	}
	number := map[string]string{"cost": "cost_usd.mean", "cost_usd": "cost_usd.mean", "latency": "latency.mean", "tokens": "tokens.mean",
		"iterations": "iterations.mean", "calls": "calls.mean"}[name]
	switch {
	case number != "":
	case slices.Contains(of.Configurations, name):
		return fmt.Sprintf("write configurations[%q]", name)
	case slices.Contains(of.Scorers, name) || len(of.Scorers) == 0 && name != "scores":
		number = fmt.Sprintf("scores[%q].mean", scorer)
	case len(of.Scorers) > 0:
		number = fmt.Sprintf("scores[%q].mean", of.Scorers[0])
	default:
		number = `scores["SCORER"].mean`
	}
	return fmt.Sprintf("write configurations[%q].%s", configuration, number)
}

// checkReads refuses parameters that the loop does not have.
func (c compiler) checkReads(n *source.Node, reads []string) {
	if c.loop == nil || c.loop.Param == nil {
		return
	}
	for _, read := range reads {
		if c.loop.Workspace == nil && (read == "workspace" || strings.HasPrefix(read, "workspace.")) {
			c.fault(n, "declare one: workspace: {from: task.vars.repo}", "the loop has no workspace")
		}
		name, isParam := strings.CutPrefix(read, "param.")
		if isParam && !hasParam(c.loop.Param, name) && !asksFirst(n.Text) {
			at := max(0, strings.Index(n.Text, name))
			hint := nearParam(name, c.loop.Param)
			c.add(n.FaultAt(len([]rune(n.Text[:at])), len([]rune(name)), hint, "the loop has no parameter %q", name))
		}
	}
}

// asksFirst reports whether an expression asks whether a parameter is there.
func asksFirst(text string) bool {
	return strings.Contains(text, "has(param") || strings.Contains(text, "param.?") || strings.Contains(text, "param[?") ||
		strings.Contains(text, " in param")
}

// hasParam finds a full path, a suffix, or a path through the nested objects, also to an object.
func hasParam(param *expr.Object, name string) bool {
	if _, ok := param.Get(name); ok {
		return true
	}
	first, rest, nested := strings.Cut(name, ".")
	below, _ := param.Get(first)
	inner, ok := below.(*expr.Object)
	return nested && ok && hasParam(inner, rest)
}

// nearParam suggests a parameter by any of its names, and lists them by their full paths.
func nearParam(name string, param *expr.Object) string {
	if closest := source.Closest(name, param.Keys()); closest != "" {
		return didYouMean(name, []string{closest})
	}
	return knownNames(slices.DeleteFunc(slices.Clone(param.Keys()), func(key string) bool {
		section, _, dotted := strings.Cut(key, ".")
		_, whole := param.Get(section)
		return !dotted || !whole
	}))
}

// reads reports whether an expression reads a variable, or one of several paths.
func (e *Expr) reads(paths ...string) bool {
	return e != nil && e.Program != nil && readsAny(e.Program.Reads(), paths)
}

// reads reports whether what stands in {{ }} reads a variable, or one of several paths.
func (p *Prompt) reads(paths ...string) bool {
	return p != nil && p.Template != nil && readsAny(p.Template.Reads(), paths)
}

func readsAny(reads, paths []string) bool {
	for _, read := range reads {
		for _, path := range paths {
			if read == path || strings.HasPrefix(read, path+".") {
				return true
			}
		}
	}
	return false
}

func holdsThreshold(conditions []Condition) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool {
		return c.Kind == KindConfidence && !c.Off || holdsThreshold(c.Nested)
	})
}

// compileScorers compiles what scorers see: outputs of any of the loops.
func (l *loader) compileScorers(s *Suite) {
	output := expr.String
	if len(s.Resolved) == 0 {
		output = expr.Any // the loops have faults: what they reply is not known
	}
	for i := range s.Resolved {
		if s.Resolved[i].Loop.outputType().String() != output.String() {
			output = expr.Any
		}
	}
	for scorer := range s.AllScorers() {
		l.compileScorer(scorer, output)
	}
}

func (l *loader) compileScorer(scorer *Scorer, output expr.Type) {
	c := compiler{l, expr.Scorer(output), nil}
	c.expr(scorer.Value, expr.WantAny)
	c.expr(scorer.Target, expr.WantAny)
	c.expr(scorer.Overlay, expr.WantAny)
	if scorer.Extract != nil {
		c.expr(scorer.Extract.Expr, expr.WantAny)
	}
	switch scorer.Type {
	case "tool_args":
		compiler{l, expr.ToolCall(output), nil}.expr(scorer.Expr, expr.WantBool)
	case "json_path":
		compiler{l, expr.JSONPath(output), nil}.expr(scorer.Expr, expr.WantAny)
	case "cel":
		c.judgement(scorer.Expr)
	}
	for _, rubric := range scorer.rubrics() {
		compiler{l, expr.Rubric(), nil}.prompt(rubric)
	}
	verdict := scorer.Expr != nil && scorer.Expr.Program != nil && scorer.Expr.Program.IsBool()
	switch { // what only the types of expressions tell
	case verdict && scorer.Type == "json_path" && scorer.Target != nil:
		c.add(scorer.Node.KeyFault("target", "expr says true or false itself", "nothing is compared with this target"))
	case verdict && scorer.Type == "cel" && scorer.Range != nil:
		c.add(scorer.Node.KeyFault("range", "true is worth 1, false 0", "expr gives no number that a range could be of"))
	case scorer.Score != "" && scorer.Score != ScoreReturned && scorer.readsStop():
		c.add(scorer.Node.KeyFault("score", "delete it", "this scorer reads stop, which is known of whole runs only"))
	}
}

// judgement compiles the expression of a cel scorer: a boolean or a number.
func (c compiler) judgement(e *Expr) {
	if e == nil || e.Node == nil {
		return
	}
	if program, _ := c.env.Compile(e.Text, expr.WantBool); program != nil {
		c.expr(e, expr.WantBool)
		return
	}
	if program, _ := c.env.Compile(e.Text, expr.WantAny); program == nil {
		c.expr(e, expr.WantAny) // what is wrong is not its type
		return
	}
	if program, faults := c.env.Compile(e.Text, expr.WantNumber); program == nil {
		c.fault(e.Node, faults[0].Hint, "%s", strings.Replace(faults[0].What, "must be a number", "must be true, false or a number", 1))
		return
	}
	c.expr(e, expr.WantNumber)
}
