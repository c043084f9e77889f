package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
)

// judge puts into a report what its thresholds say, or why that cannot be told,
// which is an error of its own.
func (p *program) judge(ctx context.Context, j *job, m *record.Manifest, report *reports.Report, end ending) error {
	err := answerable(j, m, report, end)
	if err == nil {
		err = p.differ(report, &record.Results{Path: j.dir, Manifest: *m}, &j.flags.againstFlags)
	}
	if err != nil {
		return answered(ctx, report, err, reports.ThresholdOptions{}, nil)
	}
	return answered(ctx, report, nil, reports.ThresholdOptions{MinCoverage: *j.Suite.MinCoverage}, append(p.judgeable(j), j.flags.texts...))
}

// verdict is how a command ends after its page: unanswered, or what the thresholds say. What the page says on the same
// screen is not repeated: which thresholds hold, and an answer that fits its line.
func (p *program) verdict(r *reports.Report, unanswered error, f *reportFlags, quiet, written bool) error {
	shown := written && p.onScreen(f)
	err := unanswered
	if err == nil {
		err = reports.Judged(r.Thresholds, quiet || shown, p.note)
	}
	var known *exit.Error
	if answer := r.Answer().Text.Visible(); !shown || !errors.As(err, &known) || err.Error() != answer || page.Width(answer) > p.width(p.out) {
		return err
	}
	if known.Hint != "" {
		p.note("hint: " + page.Visible(known.Hint))
	}
	return exit.Quiet(known.Code)
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
		if end.Aborted != nil {
			return abortedError(j, m, end.Aborted) // too late to stop any: all had started
		}
		return coverageError(j, m, least)
	}
	if j.cache != nil && j.flags.mode == cache.Only && j.cache.Stats().Misses > 0 {
		return exit.With(exit.NotMeasured, "run once with --cache on to fill it", "the cache lacks %s, and --cache only makes no call",
			page.Plural(int(j.cache.Stats().Misses), "answer", "answers"))
	}
	return report.Answerable(j.dir, m, m.Totals.Planned, least)
}

func stoppedError(j *job, m *record.Manifest, end ending) error {
	if end.Aborted != nil {
		return abortedError(j, m, end.Aborted)
	}
	var why, hint string
	switch {
	case end.Stopped == record.ReasonSuiteBudget:
		why, hint = "the suite's budget is spent", doubtHint(j)+lastCall(j.budget.Refusal())+"finished runs are saved; raise the budget in the suite and resume with: "
	case end.interrupted:
		why, hint = "interrupted", "finished runs are saved; resume with: "
	default:
		return exit.With(exit.Stopped, "run without --task, --limit and --trials for the others", "%d of %s are finished", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"))
	}
	return exit.With(exit.Stopped, hint+j.again(), "%s after %d of %s", why, results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"))
}

// lastCall says what the call that was not made reserves of a budget of which something is left.
func lastCall(r *pace.Refused) string {
	switch {
	case r == nil:
		return ""
	case r.Unpriced:
		return "the price of a call is unknown, and it may have cost any amount: write it into the model's price (cache_write, tiers, fees); "
	case r.Reason == record.ReasonBudgetCost && r.Left.Cost > 0:
		return fmt.Sprintf("the next call reserves %s, and %s is left; ", page.USD(r.Needs.Cost.Dollars()), page.USD(r.Left.Cost.Dollars()))
	case r.Reason == record.ReasonBudgetTokens && r.Left.Tokens > 0:
		return fmt.Sprintf("the next call reserves %d tokens, and %d are left; ", r.Needs.Tokens(), r.Left.Tokens)
	}
	return ""
}

// abortedError is that of a suite which was given up, because what failed would
// fail again.
func abortedError(j *job, m *record.Manifest, b *engine.Aborted) error {
	if dead := b.Unreachable; dead != nil {
		text := b.Fault.Error()
		cause := strings.TrimSpace(text[strings.LastIndex(text, ":")+1:]) // such as connection refused
		return exit.With(exit.NotMeasured, "start the server, or set the model's base_url to its address; then: "+j.again(),
			"model %s: cannot connect to %s: %s. Is the server running?", page.Visible(dead.Model), page.Visible(dead.Address), page.Visible(cause))
	}
	return exit.With(exit.NotMeasured, doubtHint(j)+b.Remedy(j.Suite)+"; finished runs are saved; resume with: "+j.again(),
		"aborted after %d of %s: %s", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"), page.Visible(reports.FirstLine(b.Error())))
}

// doubtHint says how much of the budget may not have been spent, where that is
// worth a look.
func doubtHint(j *job) string {
	_, doubt, _ := j.budget.Books()
	if doubt == (record.Usage{}) || !j.budget.Refused() && !j.budget.Exhausted() {
		return ""
	}
	return overview.Spending(doubt) + " of it are in doubt, because no answer came: see agentbench plan " + exit.ShellWord(j.dir) + "; "
}

func coverageError(j *job, m *record.Manifest, least float64) error {
	hint := "agentbench show " + exit.ShellWord(j.dir) + " lists the runs"
	if j.tally.Fault != nil {
		hint = "one of the faults: " + page.Visible(reports.FirstLine(j.tally.Fault.Error()))
	}
	return exit.With(exit.NotMeasured, hint, "%d of %s could be measured; min_coverage is %v", results.Measured(m), page.Plural(m.Totals.Planned, "run", "runs"), least)
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
		left := results.LeftOut(t.Reads(), j.Suite, j.plan)
		if left == "" && j.flags.baseline == "" && reports.ReadsDiff(t.Text) {
			left = results.LeftOutOfDiff(j.Suite, j.plan)
		}
		if left == "" {
			texts = append(texts, t.Text)
		} else if !j.flags.quiet {
			fmt.Fprintf(p.err, "threshold not judged, because %s was left out: %s\n", page.Visible(left), t.Text)
		}
	}
	return texts
}
