package reports

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Of is the report of a folder or a baseline.
func Of(from *record.Results) (*Report, error) {
	r, err := CollectSteps(&from.Manifest, from.Runs(), from.Scores(), from.Snapshots())
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "", "reading the results: %w", err)
	}
	return r, nil
}

// Answerable says why results have no answer, if they have none, of which so many runs are
// expected: too few could be measured, the agent failed in all of them, or nothing could
// be scored.
func (r *Report) Answerable(path string, m *record.Manifest, expected int, minCoverage float64) error {
	if covered := m.Totals.Completed + m.Totals.Failed; covered == 0 || float64(covered) < minCoverage*float64(expected) {
		return exit.With(exit.NotMeasured, listsRuns(path), "%d of %s could be measured; min_coverage is %v", covered, page.Plural(expected, "run", "runs"), minCoverage)
	}
	return cmp.Or(r.AgentFailed(path), r.unscored(path))
}

func listsRuns(path string) string {
	return "agentbench show " + exit.ShellWord(path) + " lists the runs"
}

// AnyCounts is an error where nothing was measured at all.
func (r *Report) AnyCounts(path string) error {
	if r.runCount() > 0 {
		return nil
	}
	return exit.With(exit.NotMeasured, listsRuns(path), "no run was measured")
}

// AgentFailed is the error of results in which the agent failed in every run that counts,
// with the commonest cause; nil where it did not, or where no run counts.
func (r *Report) AgentFailed(path string) error {
	classes := r.AllFailed()
	if classes == nil {
		return nil
	}
	return failedEverywhere(path, countAll(classes), classes[0])
}

// FailedEverywhere is that error of runs that were read; nil where one went well.
func FailedEverywhere(path string, runs iter.Seq[*record.Run]) error {
	counts := map[string]int{}
	all := 0
	for run := range runs {
		failure := failureOf(run)
		if failure == nil {
			return nil
		}
		all++
		counts[string(failure.Class)]++
	}
	if all == 0 {
		return nil
	}
	return failedEverywhere(path, all, commonest(counts))
}

// failedEverywhere says that the agent failed in all of so many runs. The path is that
// of a result folder, or of a baseline, which holds no messages: then the commonest
// class of errors stands for the cause.
func failedEverywhere(path string, all int, class Count) error {
	cause := commonestFailure(path)
	if cause.N == 0 {
		cause = class
	}
	runs, in := "the only run", ""
	if all > 1 {
		runs = fmt.Sprintf("all %d runs", all)
	}
	if cause.N < all {
		in = fmt.Sprintf(", in %d of them", cause.N)
	}
	hint := listsRuns(path)
	if strings.Contains(cause.Name, "the evaluation's program") {
		hint = `a program that evaluates exits with 0 and prints {"passed": true} or {"passed": false}; ` + hint
	}
	return exit.With(exit.NotMeasured, hint, "the agent failed in %s%s: %s", runs, in, page.Visible(cause.Name))
}

// failureOf is the error by which the agent failed in a run: the one that ended it,
// or the last one where no iteration went well; nil where it did not fail.
func failureOf(run *record.Run) (failure *record.Error) {
	if run.Outcome.Status == record.Failed && run.Outcome.Error != nil {
		return run.Outcome.Error
	}
	for i := range run.Iterations {
		if failure = run.Iterations[i].Error; failure == nil {
			return nil
		}
	}
	return failure
}

// commonestFailure is the cause that most runs of a folder failed for, as one of them
// tells it, and of how many; the zero value where there are no records.
func commonestFailure(dir string) Count {
	counts, examples, several := map[string]int{}, map[string]string{}, map[string]bool{}
	for run, err := range record.ReadRuns(dir) {
		if err != nil || !run.Outcome.Counts() {
			continue
		}
		failure := failureOf(run)
		if failure == nil {
			continue
		}
		text := FirstLine(failure.Error())
		cause := differing.ReplaceAllStringFunc(text, func(text string) string {
			if strings.HasPrefix(text, "status ") {
				return text
			}
			return "#"
		})
		example, known := examples[cause]
		several[cause] = several[cause] || known && text != example
		if !known || text < example {
			examples[cause] = text
		}
		counts[cause]++
	}
	most := commonest(counts)
	cause := most.Name
	if most.Name = examples[cause]; several[cause] {
		most.Name += " (others differ in ids and numbers only)"
	}
	return most
}

// differing is what differs in messages of one cause: numbers, addresses, times and ids. What
// a server answered with is no such number.
var differing = regexp.MustCompile(`\bstatus \d+|\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{8,}\b|\w*\d\w*([.:,-]\w*\d\w*)*`)

// commonest is what occurs most often, the first by name among equals.
func commonest(counts map[string]int) (most Count) {
	for name, n := range counts {
		if n > most.N || n == most.N && name < most.Name {
			most = Count{Name: name, N: n}
		}
	}
	return most
}

// unscored is the error of results whose first scorer judged no run at all; nil where it
// judged one, or where nothing is scored.
func (r *Report) unscored(path string) error {
	hint := listsRuns(path)
	for c := range page.EachOf(r.Configurations) {
		if len(c.Scores) == 0 || c.Scores[0].Scored > 0 {
			return nil
		}
		for _, w := range c.Warnings {
			if w.Kind == Unscored && w.Name == r.Primary() && w.More != "" {
				hint = "one of the reasons: " + FirstLine(w.More)
			}
		}
	}
	return exit.With(exit.NotMeasured, hint, "the scorer %s could judge no run", page.Visible(r.Primary()))
}

// FirstLine is the first line of a text.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Judged turns what thresholds say into an error, and tells each of them, but not those
// that hold where it is to be quiet.
func Judged(all []Verdict, quiet bool, tell func(line string)) error {
	for v := range page.EachOf(all) {
		what, numbers := "holds", v.numbers()
		switch {
		case v.Err != nil:
			what = "cannot be judged"
		case !v.OK:
			what = "does not hold"
		case quiet:
			continue
		}
		if v.Configuration != "" {
			what += " for " + v.Configuration
		}
		tell(indented("threshold " + what + ": " + strings.TrimSpace(v.Text)))
		if numbers != "" {
			tell(indented("  " + strings.TrimSpace(numbers)))
		}
	}
	switch a := answerOf(all); a.State {
	case page.Errored:
		return exit.With(exit.NotMeasured, "", "%s", a.Text)
	case page.Failed:
		return exit.With(exit.AnswerNo, "", "%s", a.Text)
	}
	return nil
}

// indented keeps line feeds, behind which it indents, and shows what a terminal does not.
func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = page.Visible(lines[i])
	}
	return strings.Join(lines, "\n  ")
}
