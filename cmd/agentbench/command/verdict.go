package command

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// judge puts into a report what its thresholds say, or why that cannot be told,
// which is an error of its own.
func (p *program) judge(ctx context.Context, j *job, m *record.Manifest, report *reports.Report, end ending) error {
	if err := answerable(j, m, report, end); err != nil {
		report.Unanswered = err.Error()
		return err
	}
	err := p.differ(report, j.dir, m, &j.flags.againstFlags)
	if err != nil {
		report.Unanswered = err.Error()
		return err
	}
	options := reports.ThresholdOptions{Comparison: report.Differences, MinCoverage: *j.Suite.MinCoverage}
	report.Thresholds = reports.Thresholds(ctx, report, options, append(p.judgeable(j), j.flags.texts...))
	return nil
}

// answerable says why results have no answer, if they have none.
func answerable(j *job, m *record.Manifest, report *reports.Report, end ending) error {
	if m.Status == record.StateStopped {
		return stoppedError(j, m, end)
	}
	least := results.DefaultCoverage
	if j.Suite.MinCoverage != nil {
		least = *j.Suite.MinCoverage
	}
	if covered := results.Measured(m); covered == 0 || float64(covered) < least*float64(m.Totals.Planned) {
		if end.Blown != nil {
			return blownError(j, m, end.Blown) // too late to stop any: all had started
		}
		return coverageError(j, m, least)
	}
	if missing := j.cacheMisses(); missing > 0 {
		return exit.With(exit.NotMeasured, "run once with --cache on to fill it", "the cache lacks %s, and --cache only makes no call",
			page.Plural(int(missing), "answer", "answers"))
	}
	return cmp.Or(agentFailedError(j.dir, report), unscoredError(j.dir, report))
}

// cacheMisses is how many answers were missing where all were to be in the cache.
func (j *job) cacheMisses() int64 {
	if j.cache == nil || j.flags.mode != cache.Only {
		return 0
	}
	return j.cache.Stats().Misses
}

// agentFailedError is that of results in which the agent failed in every run that
// counts, with the commonest cause; nil where it did not, or where no run counts.
func agentFailedError(path string, report *reports.Report) error {
	classes := report.AllFailed()
	if classes == nil {
		return nil
	}
	all := 0
	for _, class := range classes {
		all += class.N
	}
	return failedEverywhere(path, all, classes[0])
}

// failedEverywhere says that the agent failed in all of so many runs. The path is that
// of a result folder, or of a baseline, which holds no messages: then the commonest
// class of errors stands for the cause.
func failedEverywhere(path string, all int, class reports.Count) error {
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
	return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(path)+" lists the runs", "the agent failed in %s%s: %s", runs, in, page.Visible(cause.Name))
}

// agentFailed refuses to choose by runs in all of which the agent failed: every
// limit loses nothing there.
func (r *recordedRuns) agentFailed() error {
	counts := map[string]int{}
	all := 0
	for i := range r.replayed {
		for _, run := range r.replayed[i].Runs {
			failure := failureOf(run.Run)
			if failure == nil {
				return nil
			}
			all++
			counts[string(failure.Class)]++
		}
	}
	if all == 0 {
		return nil
	}
	return failedEverywhere(r.place, all, commonest(counts))
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
func commonestFailure(dir string) reports.Count {
	counts, examples, several := map[string]int{}, map[string]string{}, map[string]bool{}
	for run, err := range record.ReadRuns(dir) {
		if err != nil || !run.Outcome.Counts() {
			continue
		}
		failure := failureOf(run)
		if failure == nil {
			continue
		}
		text := firstLine(failure.Error())
		cause := causeOf(text)
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

// causeOf is a message without what differs where the cause is the same.
func causeOf(message string) string {
	return differing.ReplaceAllStringFunc(message, func(text string) string {
		if strings.HasPrefix(text, "status ") {
			return text
		}
		return "#"
	})
}

// commonest is what occurs most often, the first by name among equals.
func commonest(counts map[string]int) (most reports.Count) {
	for name, n := range counts {
		if n > most.N || n == most.N && name < most.Name {
			most = reports.Count{Name: name, N: n}
		}
	}
	return most
}

// unscoredError is that of a suite whose first scorer judged no run at all; nil
// where it judged one, or where nothing is scored.
func unscoredError(dir string, report *reports.Report) error {
	why := ""
	for i := range report.Configurations {
		c := &report.Configurations[i]
		if len(c.Scores) == 0 || c.Scores[0].Scored > 0 {
			return nil
		}
		for _, w := range c.Warnings {
			if w.Kind == reports.Unscored && w.Name == report.Primary() {
				why = w.More
			}
		}
	}
	hint := "agentbench show " + exit.ShellWord(dir) + " lists the runs"
	if why != "" {
		hint = "one of the reasons: " + page.Visible(firstLine(why))
	}
	return exit.With(exit.NotMeasured, hint, "the scorer %s could judge no run", page.Visible(report.Primary()))
}

func stoppedError(j *job, m *record.Manifest, end ending) error {
	if end.Blown != nil {
		return blownError(j, m, end.Blown)
	}
	var why, hint string
	switch {
	case end.Stopped == record.ReasonSuiteBudget:
		why, hint = "the suite's budget is spent", doubtHint(j)+"the finished runs are safe; with a larger budget in the suite, this goes on: "
	case end.interrupted:
		why, hint = "interrupted", "the finished runs are safe; this goes on: "
	default:
		return exit.With(exit.Stopped, "without --task, --limit and --trials run makes the others", "%d of %s are made", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"))
	}
	return exit.With(exit.Stopped, hint+j.again(), "%s after %d of %s", why, results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"))
}

// blownError is that of a suite which was given up, because what failed would
// fail again.
func blownError(j *job, m *record.Manifest, b *engine.Blown) error {
	return exit.With(exit.NotMeasured, doubtHint(j)+repairs(b.Fault.Class)+"; the finished runs are safe in "+j.dir,
		"given up after %d of %s: %s", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"), page.Visible(firstLine(b.Error())))
}

// doubtHint says how much of the budget may not have been spent, where that is
// worth a look.
func doubtHint(j *job) string {
	doubt := j.budget.InDoubt()
	if doubt == (record.Usage{}) || j.ledger == nil || !j.budget.Refused() && !j.budget.Exhausted() {
		return ""
	}
	return overview.Spending(doubt) + " of it are in doubt, because no answer came: see agentbench plan " + exit.ShellWord(j.dir) + "; "
}

// repairs says what to do before the suite runs again.
func repairs(class record.ErrorClass) string {
	switch class {
	case record.Auth:
		return "check the key that api_key_env names"
	case record.Quota:
		return "the account or its budget is used up"
	case record.InvalidRequest:
		return "check the model's name, base_url and settings"
	case record.Resources:
		return "raise the number of open files (ulimit -n), or run with a smaller --concurrency"
	case record.RateLimit:
		return "declare rpm, tpm or max_parallel of the model, or run with a smaller --concurrency"
	}
	return "the server or the way to it does not work; try again later"
}

func coverageError(j *job, m *record.Manifest, least float64) error {
	hint := "agentbench show " + exit.ShellWord(j.dir) + " lists the runs"
	if j.tally.fault != nil {
		hint = "one of the faults: " + page.Visible(firstLine(j.tally.fault.Error()))
	}
	return exit.With(exit.NotMeasured, hint, "%d of %s could be measured; min_coverage is %v", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"), least)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// thresholds says which bounds hold, where it is not to be quiet, and which do
// not, and turns them into an exit code.
func (p *program) thresholds(all []reports.Verdict, quietly bool) error {
	wrong, broken := 0, 0
	for i := range all {
		v := &all[i]
		switch {
		case v.Err != nil:
			broken++
			p.tellThreshold("cannot be judged", v, v.Err.Error())
		case !v.OK:
			wrong++
			p.tellThreshold("does not hold", v, v.Detail)
		case !quietly:
			p.tellThreshold("holds", v, v.Detail)
		}
	}
	switch {
	case broken > 0:
		return exit.With(exit.NotMeasured, "", "%d of %s cannot be judged", broken, page.Plural(len(all), "threshold", "thresholds"))
	case wrong == 1:
		return exit.With(exit.AnswerNo, "", "1 of %s does not hold", page.Plural(len(all), "threshold", "thresholds"))
	case wrong > 0:
		return exit.With(exit.AnswerNo, "", "%d of %d thresholds do not hold", wrong, len(all))
	}
	return nil
}

func (p *program) tellThreshold(what string, v *reports.Verdict, numbers string) {
	of := ""
	if v.Configuration != "" {
		of = " for " + page.Visible(v.Configuration)
	}
	fmt.Fprintf(p.err, "threshold %s%s: %s\n", what, of, printableLines(v.Text))
	if numbers != "" {
		fmt.Fprintf(p.err, "  %s\n", printableLines(numbers))
	}
}

// judgeable are the thresholds that read nothing of configurations which the
// user left out.
func (p *program) judgeable(j *job) (texts []string) {
	if part := j.plan.Part; part != nil && part.Of > 1 {
		if len(j.Suite.Thresholds) > 0 && !j.flags.quiet {
			fmt.Fprintln(p.err, "thresholds are judged when the shards are merged")
		}
		return nil
	}
	for i := range j.Suite.Thresholds {
		t := &j.Suite.Thresholds[i]
		left := j.leftOut(t.Reads())
		if left == "" && reports.ReadsDiff(t.Text) {
			left = j.leftOutOfDiff()
		}
		if left == "" {
			texts = append(texts, t.Text)
		} else if !j.flags.quiet {
			fmt.Fprintf(p.err, "threshold not judged, because %s was left out: %s\n", page.Visible(left), t.Text)
		}
	}
	return texts
}

// leftOutOfDiff says what of a comparison with the suite's baseline is not in the
// plan, "" where everything is.
func (j *job) leftOutOfDiff() string {
	switch {
	case j.flags.baseline != "":
		return ""
	case results.PlannedBaseline(j.Suite, j.plan) == "":
		return j.Suite.Baseline
	case len(j.plan.Configurations) == 1 && len(j.Suite.Resolved) > 1:
		return "what is compared with " + j.Suite.Baseline
	}
	return ""
}

// leftOut names a configuration of the suite that is read and not in the plan.
func (j *job) leftOut(reads []string) string {
	for i := range j.Suite.Resolved {
		c := &j.Suite.Resolved[i]
		planned := slices.ContainsFunc(j.plan.Configurations, func(p spec.Resolved) bool { return p.Name == c.Name })
		if planned {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			path := "configurations." + name
			if slices.ContainsFunc(reads, func(read string) bool { return read == path || strings.HasPrefix(read, path+".") }) {
				return name
			}
		}
	}
	return ""
}
