package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) planCommand() *cobra.Command {
	var f selectionFlags
	var power powerFlags
	c := &cobra.Command{
		Use:     "plan SUITE|DIR",
		Short:   "Say what a suite would run and cost at most, or what of a folder's budget is left",
		GroupID: "run",
		Long: `Of a suite: its runs, and what they call and cost at most, without running it.

Of a result folder: its ledger, which is what of the suite's budget was paid, what is in
doubt because no answer came, and what is free.`,
		Args: arguments(1, 1, "one suite, or one result folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(f.validate(), power.validate()); err != nil {
				return err
			}
			if resultFolder(args[0]) && !there(filepath.Join(args[0], suites.File)) {
				if c.Flags().NFlag() > 0 {
					return usage("agentbench plan "+shellWord(args[0])+" shows its ledger", "%s is a result folder: the flags of plan are for suites", args[0])
				}
				return p.planFolder(args[0])
			}
			o, planned, err := p.openPlan(args[0], &f)
			if err != nil {
				return err
			}
			p.warn(o, nil)
			notes, err := p.powerNotes(o, planned, &power)
			if err != nil {
				return err
			}
			return p.tellPlan(o, planned, notes)
		},
	}
	f.declare(c)
	power.declare(c)
	return c
}

// tellPlan prints the runs of a plan and their worst case.
func (p *program) tellPlan(o *opened, planned *plan.Plan, notes []string) error {
	worst, err := worstCases(o, planned)
	if err != nil {
		return fail(wrongSpec, "", "%w", err)
	}
	total := worst.runs()
	if planned.Part != nil {
		fmt.Fprintln(p.out, partText(planned))
	}
	fmt.Fprintf(p.out, "%s: %s × %s × %s = %s\n", printable(o.Suite.Name), count(planned.Tasks, "task", "tasks"),
		count(len(planned.Configurations), "configuration", "configurations"), count(planned.Trials, "trial", "trials"), count(planned.Runs(), "run", "runs"))
	fmt.Fprintf(p.out, "at most %s, %s, %s:\n\n", count(int(total.Iterations), "iteration", "iterations"), count(int(total.Calls), "call", "calls"), spending(total))
	if _, err := page.Terminal(p.out, planTable(planned, worst.each), page.Screen{Width: p.width(p.out)}); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	if err := p.tellScoring(worst); err != nil {
		return err
	}
	p.tellNotes(append(notes, planNotes(o.Suite, planned, worst)...))
	return nil
}

// worstCases are the worst cases of all runs and scores. All trials have the same.
func worstCases(o *opened, planned *plan.Plan) (*worstCase, error) {
	models, asking := modelsOf(o.Suite), plan.AskingOf(o.Suite)
	shared := plan.SharedBy(planned.Configurations, models)
	w := &worstCase{each: make([]plan.Worst, len(planned.Configurations)), asking: asking, scoring: make([]plan.Scoring, len(asking))}
	for item, err := range planned.Once().Items(o.Tasks()) {
		if err != nil {
			return nil, err
		}
		c, length := item.Configuration, characters(item.Task.Input)
		w.each[c] = w.each[c].Plus(plan.WorstOfRun(planned.Configurations[c].Loop, models, length))
		for i := range asking {
			w.scoring[i] = w.scoring[i].Plus(asking[i].WorstOfRun(&planned.Configurations[c], models, length, characters(item.Task.Target)))
		}
		if c == 0 {
			w.paid = w.paid.Plus(shared.WorstOfTask(models, length))
		}
	}
	w.repeat(int64(planned.Trials))
	return w, nil
}

func (w *worstCase) repeat(trials int64) {
	for c := range w.each {
		w.each[c] = w.each[c].Times(trials)
	}
	for i := range w.scoring {
		w.scoring[i] = w.scoring[i].Times(trials)
	}
	w.paid = w.paid.Times(trials)
}

// characters is the length of an input as it stands in a prompt.
func characters(input any) int {
	if text, ok := input.(string); ok {
		return len(text)
	}
	text, err := expr.AppendJSON(nil, input)
	if err != nil {
		return 0
	}
	return len(text)
}

// planTable has for each configuration the limits of its phases or strategies,
// their bare sum, the limit of a run that is in force, and the worst case of all
// its runs.
func planTable(planned *plan.Plan, each []plan.Worst) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "configuration"}, {Head: "stages", List: true}, {Head: "sum", Right: true}, {Head: "iterations\nper run", Right: true},
		{Head: "calls", Right: true}, {Head: "tokens", Right: true}, {Head: "cost", Right: true},
	}}
	for i := range planned.Configurations {
		c := &planned.Configurations[i]
		t.Rows = append(t.Rows, []string{
			printable(c.Name), stages(c.Loop), sumOfLimits(c.Loop), limitOf(c.Loop),
			fmt.Sprint(each[i].Calls), tokens(each[i]), cost(each[i]),
		})
	}
	return t
}

// stages are the phases or strategies with their limits: planning 1, execution 5.
func stages(l *spec.Loop) string {
	var parts []string
	for _, s := range l.Stages() {
		switch {
		case s.Name == "":
		case s.Limit == 0:
			parts = append(parts, printable(s.Name))
		default:
			parts = append(parts, fmt.Sprintf("%s %d", printable(s.Name), s.Limit))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// sumOfLimits is the bare sum of the limits of phases or strategies.
func sumOfLimits(l *spec.Loop) string {
	_, _, sum := l.EffectiveMax()
	if sum == 0 {
		return "-"
	}
	return fmt.Sprint(sum)
}

// limitOf is the limit of a run that is in force.
func limitOf(l *spec.Loop) string {
	if limit := plan.MaxIterations(l); limit > 0 {
		return fmt.Sprint(limit)
	}
	return "none"
}

// bound marks a number that is no upper bound.
func bound(w plan.Worst, number string) string {
	if w.Unbounded > 0 || w.Programs > 0 || w.Open > 0 {
		return "≥ " + number
	}
	return number
}

func tokens(w plan.Worst) string {
	if w.Calls == 0 && w.Programs > 0 {
		return "unknown"
	}
	return bound(w, fmt.Sprint(w.Tokens))
}

func cost(w plan.Worst) string {
	switch {
	case w.Unpriced > 0:
		return "unpriced"
	case w.Calls == 0 && w.Programs > 0:
		return "unknown"
	}
	return bound(w, dollars(w.Cost.Dollars()))
}

func spending(w plan.Worst) string {
	switch {
	case w.Calls == 0 && w.Programs > 0:
		return "tokens and cost unknown"
	case w.Unpriced > 0:
		return tokens(w) + " tokens, cost unknown"
	}
	return tokens(w) + " tokens, " + cost(w)
}
