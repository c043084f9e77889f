package tune

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Asked is how a configuration is to be chosen, as it is typed behind flags. What is
// not Given, the suite's tune says.
type Asked struct {
	Objective   string
	Minimize    bool
	Constraints []string
	Choose      string // max_loss:0.02
	Cost        string
	Folds       int
	FoldBy      string
	Seed        int64

	// Given reports whether a flag was given, by its name.
	Given func(flag string) bool
}

// Validate finds what is wrong with the flags alone.
func (a *Asked) Validate() error {
	_, err := a.rule()
	switch {
	case a.Given("folds") && (a.Folds < 0 || a.Folds == 1):
		return exit.Usage("--folds 5 is the usual number, --folds 0 chooses and reports on the same tasks", "--folds %d: want 0, or 2 or more", a.Folds)
	}
	return err
}

// rule reads --choose; the zero value where it is not given.
func (a *Asked) rule() (ChoiceRule, error) {
	if a.Choose == "" {
		return ChoiceRule{}, nil
	}
	name, text, numbered := strings.Cut(a.Choose, ":")
	rule := ChoiceRule{Rule: Rule(name)}
	var names []string
	for _, known := range rules {
		names = append(names, string(known))
	}
	number, err := strconv.ParseFloat(text, 64)
	if other, value, ok := strings.Cut(a.Choose, "="); ok && isShare(value) && (Rule(other) == MaxLoss || Rule(other) == AtLeast) {
		return rule, exit.Usage("write "+other+":"+value, "--choose %s: write the number after a colon", a.Choose)
	}
	switch known := slices.Contains(names, name); {
	case !known && isShare(name) && !numbered:
		return rule, exit.Usage("did you mean max_loss:"+name+"?", "--choose %s: want a rule before the number", a.Choose)
	case !known:
		return rule, exit.Usage(exit.DidYouMean(name, names, "there are: "+strings.Join(names, ", ")), "--choose %s: unknown rule", a.Choose)
	case rule.Rule == MaxLoss && !numbered:
		number = DefaultMaxLoss
	case err != nil || !isShare(text):
		return rule, exit.Usage("for example --choose max_loss:0.02 or --choose at_least:0.98", "--choose %s: want a number from 0 to 1 behind the colon", a.Choose)
	}
	rule.Number = number
	return rule, nil
}

// isShare reports whether a text is a number from 0 to 1.
func isShare(text string) bool {
	number, err := strconv.ParseFloat(text, 64)
	return err == nil && number >= 0 && number <= 1
}

// Options are what the suite says, and over that the flags. An error that is a
// source.Faults points into the flags.
func (a *Asked) Options(t *spec.Tune, scorers []string) (ChoiceOptions, error) {
	o := optionsOf(t)
	rule, err := a.rule()
	if err != nil {
		return o, err
	}
	if rule.Rule != "" {
		rule.Cost = o.Choose.Cost
		o.Choose = rule
	}
	c := compiler{scorers: scorers}
	if a.Objective != "" {
		o.Objective = c.metric("--objective", a.Objective, expr.WantNumber)
	}
	if a.Cost != "" {
		o.Choose.Cost = c.metric("--cost", a.Cost, expr.WantNumber)
	}
	if len(a.Constraints) > 0 {
		o.Constraints = nil
	}
	for _, text := range a.Constraints {
		if term := c.metric("--constraint", text, expr.WantBool); term != nil {
			o.Constraints = append(o.Constraints, *term)
		}
	}
	if a.FoldBy != "" {
		o.By = c.compile("--fold-by", expr.Fold(), a.FoldBy, expr.WantAny)
	}
	if a.Given("minimize") {
		o.Minimize = a.Minimize
	}
	switch {
	case a.Given("folds") && a.Folds == 0:
		o.Folds = -1
	case a.Given("folds"):
		o.Folds = a.Folds
	}
	if a.Given("seed") {
		o.Seed = uint64(a.Seed)
	}
	if c.faults.Err() != nil {
		return o, &exit.Error{Code: exit.WrongUsage, Err: c.faults}
	}
	return o, nil
}

// optionsOf is what a suite asks for, whose expressions are compiled.
func optionsOf(t *spec.Tune) (o ChoiceOptions) {
	if t == nil {
		return o
	}
	o.Objective, o.Minimize = termOf(t.Objective), t.Minimize
	for i := range t.Constraints {
		o.Constraints = append(o.Constraints, *termOf(&t.Constraints[i]))
	}
	if c := t.Choose; c != nil {
		o.Choose = ChoiceRule{Rule: Rule(c.Rule), Cost: termOf(c.Cost)}
		switch o.Choose.Rule {
		case MaxLoss:
			o.Choose.Number = DefaultMaxLoss
			if c.MaxLoss != nil {
				o.Choose.Number = *c.MaxLoss
			}
		case AtLeast:
			o.Choose.Number = *c.Share
		}
	}
	if t.Folds != nil {
		o.Folds, o.By = t.Folds.K, termOf(t.Folds.By)
	}
	return o
}

func termOf(e *spec.Expr) *Term {
	if e == nil {
		return nil
	}
	return &Term{Text: e.Text, Program: e.Program}
}

// compiler gathers what is wrong with the expressions of flags.
type compiler struct {
	scorers []string
	faults  source.Faults
}

func (c *compiler) compile(flag string, env *expr.Env, text string, want expr.Want) *Term {
	program, faults := env.Compile(text, want)
	for _, f := range faults {
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: f.Offset + 1},
			Len: f.Len, What: f.What, Hint: f.Hint, Warning: f.Warning})
	}
	if program == nil {
		return nil
	}
	return &Term{Text: text, Program: program}
}

// metric is an expression over the metrics of a configuration; it may only name
// scores that there are.
func (c *compiler) metric(flag, text string, want expr.Want) *Term {
	before := len(c.faults)
	term := c.compile(flag, expr.Objective(), text, want)
	for i := before; i < len(c.faults); i++ {
		c.faults[i].Hint = c.hint(&c.faults[i], text)
	}
	if term == nil {
		return nil
	}
	var reads []string // as thresholds would read them
	for _, path := range term.Reads() {
		if strings.HasPrefix(path, "scores.") {
			reads = append(reads, "diff."+path)
		}
	}
	for _, m := range spec.Misreads(reads, spec.Readable{Scorers: c.scorers}) {
		at := max(0, strings.Index(text, m.Name))
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: len([]rune(text[:at])) + 1},
			Len: len([]rune(m.Name)), What: `unknown scorer "` + page.Visible(m.Name) + `"`, Hint: exit.DidYouMean(m.Name, m.Known, "there are: "+exit.Some(m.Known))})
	}
	return term
}

// metricNames are what people call metrics.
var metricNames = map[string]string{
	"cost": "cost_usd.mean", "price": "cost_usd.mean", "dollars": "cost_usd.mean", "time": "latency.mean", "seconds": "latency.mean", "duration": "latency.mean",
}

// hint says which number over many runs was meant where a name is none.
func (c *compiler) hint(f *source.Fault, text string) string {
	characters := []rune(text)
	from := min(len(characters), f.Pos.Col-1)
	name := string(characters[from:min(len(characters), from+f.Len)])
	switch {
	case f.File.Name == "--constraint" && strings.HasPrefix(f.What, "this must be true or false, but it is of type"): // a shell takes > for its own
		than := " < 5.0"
		if strings.HasPrefix(text, "scores") {
			than = " >= 0.8"
		}
		return "quote it for the shell: --constraint " + exit.ShellWord(page.Visible(text)+than)
	case f.What == "unknown name "+strconv.Quote(name) && slices.Contains(c.scorers, name):
		return fmt.Sprintf("did you mean scores[%q].mean?", page.Visible(name))
	case f.What == "unknown name "+strconv.Quote(name) && metricNames[name] != "":
		return "did you mean " + metricNames[name] + "?"
	}
	return f.Hint
}

// CheckTasks finds what keeps the tasks of a suite from being put into folds, before a run is made of them.
func (o *ChoiceOptions) CheckTasks(ctx context.Context, tasks iter.Seq2[*spec.Task, error]) error {
	if o.By == nil {
		return nil
	}
	var runs []sweep.Run
	for task, err := range tasks {
		if err != nil {
			return err
		}
		runs = append(runs, sweep.Run{Recorded: replay.Recorded{Run: &record.Run{Task: task.ID, Cluster: task.Cluster}, Task: task}})
	}
	_, err := groupsOf(ctx, runs, o.By)
	return err
}
