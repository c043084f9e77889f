package pass_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

const (
	right  = `{name: right, type: exact}`
	short  = `{name: short, type: cel, expr: 'size(string(output)) < 3'}`
	ended  = `{name: ended, type: cel, expr: 'stop.reason == "max_iterations"'}`
	good   = `{name: good, type: judge, model: m, rubric: Good}`
	better = `{name: better, type: pairwise, model: m, rubric: Better}`
)

var (
	ctx   = context.Background()
	half  = `{"score": 0.5, "explanation": "so so"}`
	first = `{"score": "first", "explanation": "it was first"}`
)

func TestAPassScoresEveryRunWithItsTask(t *testing.T) {
	d := load(t, right+", "+ended)
	dir := folder(t, sixRuns()...)
	p := made(t, ctx, asked(t, dir, d, &outside{}))
	var want []string
	for n := 1; n <= tasks; n++ {
		value := 0
		if n <= 3 {
			value = 1
		}
		id := fmt.Sprintf("base/t%d/1", n)
		want = append(want, id+" ended 0 1", fmt.Sprintf("%s right 0 %d", id, value), id+" right 1 0", fmt.Sprintf("%s right 2 %d", id, value))
	}
	expect.Equal(t, "result", shown(t, dir), strings.Join(want, "\n"))
	if c := p.Counts[0]; p.Runs != 6 || c.Wanted != 18 || c.Made != 18 || c.WantedOfRuns != 6 || c.Kept != 0 {
		t.Errorf("%d runs, %+v", p.Runs, c)
	}
}

// What is made of a run goes by the last score that each scorer gave of each thing.
func TestWhatIsMissingUnscoredOrOfAnotherVersionIsMade(t *testing.T) {
	d := load(t, right+", "+good)
	hash := d.Suite.Scorers[0].Hash()
	own := func(iteration int) record.Score {
		return record.Score{Name: "right", Iteration: iteration, Value: 0.25, Scorer: hash}
	}
	old := record.Score{Name: "right", Value: 0.25, Scorer: "old"}
	failed := record.Score{Name: "right", Unscored: "why", Scorer: hash}
	gone := record.Score{Name: "right", Removed: true}
	all := []record.Score{own(0), own(1), own(2)}
	for name, test := range map[string]struct {
		there  []record.Score
		change func(*pass.Options)
		want   string // the values of the run and of its iterations
		found  string
	}{
		"nothing":              {nil, nil, "1 0 1", "map[]"},
		"all of this version":  {all, nil, "0.25 0.25 0.25", "this:1"},
		"an iteration lacks":   {[]record.Score{own(0), own(2)}, nil, "0.25 0 0.25", "this:1"},
		"of another version":   {append(all, old), nil, "1 0.25 0.25", "old:1"},
		"unscored":             {append(all, failed), nil, "1 0.25 0.25", "this:1"},
		"taken back":           {append(all, gone), nil, "1 0.25 0.25", "map[]"},
		"made again since":     {append(all, old, own(0)), nil, "0.25 0.25 0.25", "this:1"},
		"again":                {all, func(o *pass.Options) { o.Again = true }, "1 0 1", "this:1"},
		"only what is missing": {[]record.Score{old, own(1)}, func(o *pass.Options) { o.Missing = true }, "0.25 0.25 1", "old:1"},
		"only by another":      {nil, func(o *pass.Options) { o.Scorers = []string{"good"} }, "", "map[]"},
		"asked for one":        {nil, func(o *pass.Options) { o.Wanted = map[string][]int{"base/t1/1": {2, 2, 9}} }, " - 1", "map[]"},
		"asked for another":    {nil, func(o *pass.Options) { o.Wanted = map[string][]int{"base/t2/1": {2}} }, "", "map[]"},
		"asked, and it is":     {all, func(o *pass.Options) { o.Wanted = map[string][]int{"base/t1/1": {2}} }, "0.25 0.25 0.25", "this:1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, run("base", "t1", "no", "1"))
			for _, s := range test.there {
				add(t, dir, "base/t1/1", s)
			}
			o := asked(t, dir, d, &outside{says: half})
			if test.change != nil {
				test.change(&o)
			}
			p := made(t, ctx, o)
			expect.Equal(t, "the scores are", valuesOf(t, dir, "right"), test.want)
			found := strings.NewReplacer("map["+hash+":", "this:", "map[old:", "old:", "1]", "1").Replace(fmt.Sprint(p.Counts[0].Found))
			if found != test.found {
				t.Errorf("found %s, want %s", found, test.found)
			}
		})
	}
}

// valuesOf are the values of a scorer of the run and of its iterations in turn, as
// far as there are any; - is none between them.
func valuesOf(t *testing.T, dir, scorer string) string {
	values := []string{}
	for _, s := range standing(t, dir) {
		if s.Name != scorer {
			continue
		}
		for len(values) <= s.Iteration {
			values = append(values, "-")
		}
		values[s.Iteration] = fmt.Sprint(s.Value)
	}
	if len(values) > 0 && values[0] == "-" {
		values[0] = ""
	}
	return strings.Join(values, " ")
}

// However often, and by whichever versions, runs were scored before, after a pass
// they are scored as afresh; and another pass has nothing to do.
func TestAnyHistoryEndsInTheSameScores(t *testing.T) {
	d := load(t, right+", "+short)
	fresh := folder(t, sixRuns()...)
	made(t, ctx, asked(t, fresh, d, &outside{}))
	want := shown(t, fresh)
	hashes := []string{"", "old", "older", d.Suite.Scorers[0].Hash(), d.Suite.Scorers[1].Hash()}
	byHand := standing(t, fresh)
	propertytest.Check(t, func(rt *rapid.T) {
		dir := folder(t, sixRuns()...)
		for range rapid.IntRange(0, 20).Draw(rt, "lines") {
			s := rapid.SampledFrom(byHand).Draw(rt, "score")
			s.Scorer = rapid.SampledFrom(hashes).Draw(rt, "version")
			if s.Scorer != d.Suite.Scorers[slices.Index([]string{"right", "short"}, s.Name)].Hash() {
				s.Value = 0.125
			}
			if s.Removed = rapid.Bool().Draw(rt, "removed"); rapid.Bool().Draw(rt, "unscored") {
				s.Unscored = "why"
			}
			add(t, dir, s.Run, s)
		}
		made(t, ctx, asked(t, dir, d, &outside{}))
		if got := shown(t, dir); got != want {
			rt.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		if p, err := pass.Look(asked(t, dir, d, &outside{})); err != nil || p.Runs != 0 {
			rt.Errorf("%d runs are left, %v", p.Runs, err)
		}
	})
}

func TestAnUnscoredScoreIsTriedAgainAndToldOnce(t *testing.T) {
	d, by := load(t, good), &outside{says: "prose"}
	dir := folder(t, sixRuns()...)
	p := made(t, ctx, asked(t, dir, d, by))
	if p.Counts[0].Unscored != 6 || lines(t, dir) != 6 {
		t.Fatalf("%+v, %d lines", p.Counts[0], lines(t, dir))
	}
	p = made(t, ctx, asked(t, dir, d, by))
	if c := p.Counts[0]; c.Wanted != 6 || c.Unscored != 6 || c.Usage.Calls != 12 || lines(t, dir) != 6 {
		t.Errorf("again: %+v, %d lines; what was asked for in vain is told", c, lines(t, dir))
	}
	by.says = half
	p = made(t, ctx, asked(t, dir, d, by))
	if c := p.Counts[0]; c.Made != 6 || c.Usage.Calls != 6 || strings.Contains(shown(t, dir), "unscored") {
		t.Errorf("at last: %+v\n%s", c, shown(t, dir))
	}
}

// What was asked of the output that a run returned stands once, also where the
// run was scored before its iterations.
func TestWhatWasAskedStandsOnce(t *testing.T) {
	d, by := load(t, good), &outside{says: half}
	dir := folder(t, sixRuns()...)
	made(t, ctx, asked(t, dir, d, by))
	o := asked(t, dir, d, by)
	o.Iterations = true
	if p := made(t, ctx, o); p.Counts[0].Made != 12 || p.Counts[0].Usage.Calls != 6 {
		t.Errorf("%+v", p.Counts[0])
	}
	var used record.Usage
	for _, s := range standing(t, dir) {
		used = used.Plus(s.Usage)
		if votes := len(s.Votes); votes != int(s.Usage.Calls) {
			t.Errorf("%d votes of %+v", votes, s)
		}
	}
	if used.Calls != 12 {
		t.Errorf("%d calls stand there, and 12 different ones were made", used.Calls)
	}
}

func TestScoresAreTakenBack(t *testing.T) {
	d := load(t, right+", "+short)
	dir := folder(t, sixRuns()...)
	made(t, ctx, asked(t, dir, d, &outside{}))
	add(t, dir, "base/t1/1", record.Score{Name: "gone", Value: 1})
	o := asked(t, dir, d, &outside{})
	o.Remove, o.Tasks = []string{"short", "gone"}, nil // which nobody needs for that
	p := made(t, ctx, o)
	if p.Counts[1].TakenBack != 18 || p.Counts[2].TakenBack != 1 || p.Counts[0].Kept != 6 {
		t.Errorf("%+v", p.Counts)
	}
	for _, s := range standing(t, dir) {
		if s.Name != "right" {
			t.Errorf("%+v is left", s)
		}
	}
}

// Those of states are taken back as well; what else was found of these states stays.
func TestScoresOfStatesAreTakenBack(t *testing.T) {
	k := newKept(t, []int{1, 1, 3}, []int{0, 1, 0})
	k.score()
	o := asked(t, k.dir, k.tasks, &outside{})
	o.Remove, o.Tasks = []string{"value"}, nil
	if p := made(t, ctx, o); p.Counts[0].TakenBack != 3 {
		t.Errorf("%+v", p.Counts)
	}
	if p := made(t, ctx, o); p.Counts[0].TakenBack != 0 {
		t.Errorf("again: %+v", p.Counts)
	}
	found := 0
	snapshots, err := results.OpenSnapshots(k.dir)
	must(t, err)
	for _, tree := range []string{"1.0", "1.1", "3.0"} {
		if s, ok := snapshots.Snapshot("base/t1/1", 1, tree); ok && len(s.Steps) == 1 && len(s.Scores) == 0 {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d states are left without scores", found)
	}
}

func TestRunsWhoseTaskIsNotThereAreTold(t *testing.T) {
	d := load(t, right)
	dir := folder(t, sixRuns()...)
	o := asked(t, dir, d, &outside{})
	o.Tasks = without(o.Tasks, "t4")
	p := made(t, ctx, o)
	if p.Taskless != 1 || p.FirstTaskless != "t4" || p.Counts[0].Made != 15 {
		t.Errorf("%d runs without their tasks, one of %q; %+v", p.Taskless, p.FirstTaskless, p.Counts[0])
	}
}

// What was made is kept; another pass goes on, and ends as an undisturbed one.
func TestAPassThatIsInterruptedGoesOn(t *testing.T) {
	d := load(t, right+", "+good)
	whole := folder(t, sixRuns()...)
	made(t, ctx, asked(t, whole, d, &outside{says: half}))
	for after := range int64(6) {
		dir := folder(t, sixRuns()...)
		cancelled, cancel := context.WithCancel(ctx)
		by := &outside{says: half}
		by.each = func() {
			if by.asked.Load() > after {
				cancel()
			}
		}
		p := made(t, cancelled, asked(t, dir, d, by))
		if strings.Contains(shown(t, dir), "unscored") || p.Counts[1].Made > 6 {
			t.Errorf("after %d calls: %+v\n%s", after, p.Counts[1], shown(t, dir))
		}
		by.each = nil
		made(t, ctx, asked(t, dir, d, by))
		expect.Equal(t, after, shown(t, dir), shown(t, whole))
		cancel()
	}
}

func TestAPassEndsWhenNobodyCanBeAskedAnyMore(t *testing.T) {
	d, by := load(t, right+", "+good), &outside{says: half, most: 2}
	dir := folder(t, sixRuns()...)
	p := made(t, ctx, asked(t, dir, d, by))
	if c := p.Counts[1]; !p.Ended() || c.Made != 2 || c.Unscored != 0 || strings.Contains(shown(t, dir), "unscored") {
		t.Errorf("ended %v, %+v\n%s", p.Ended(), c, shown(t, dir))
	}
	by.most = 0
	p = made(t, ctx, asked(t, dir, d, by))
	if c := p.Counts[1]; p.Ended() || c.Kept != 2 || c.Made != 4 {
		t.Errorf("then: ended %v, %+v", p.Ended(), c)
	}
}

func TestRunsAreJudgedBesideThoseOfTheBaseline(t *testing.T) {
	d, by := load(t, better), &outside{says: first}
	fault := run("base", "t3")
	fault.Outcome = record.Outcome{Status: record.Faulted, Error: &record.Error{Class: record.Server}}
	dir := folder(t, run("new", "t1", "a"), run("base", "t1", "b"), run("base", "t2", "a"), run("new", "t2", "a"), run("new", "t3", "a"), fault)
	p := made(t, ctx, asked(t, dir, d, by))
	want := "base/t1/1 better 0 0.5\nbase/t2/1 better 0 0.5\nnew/t1/1 better 0 0.5\nnew/t2/1 better 0 0.5\nnew/t3/1 better 0 unscored"
	if got := shown(t, dir); got != want || by.asked.Load() != 2 {
		t.Errorf("%d calls, got\n%s", by.asked.Load(), got)
	}
	if c := p.Counts[0]; c.Made != 4 || c.Unscored != 1 {
		t.Errorf("%+v", c)
	}
	if p := made(t, ctx, asked(t, dir, d, by)); p.Counts[0].Wanted != 1 || by.asked.Load() != 2 {
		t.Errorf("a second time %+v, %d calls", p.Counts[0], by.asked.Load())
	}
}

// broken is a journal on a full disk.
type broken struct{}

func (broken) AppendScores(string, []record.Score, func(error)) error { return errors.New("disk full") }
func (broken) AppendSnapshots(string, []record.Snapshot, func(error)) error {
	return errors.New("disk full")
}

func TestF4_APassThatCannotPutScoresDownFails(t *testing.T) {
	p, err := pass.Look(asked(t, folder(t, sixRuns()...), load(t, right), &outside{}))
	must(t, err)
	if err := p.Make(ctx, broken{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPassFailsWhereTasksCannotBeRead(t *testing.T) {
	o := asked(t, folder(t, sixRuns()...), load(t, right), &outside{})
	o.Tasks = func(yield func(*spec.Task, error) bool) { yield(nil, errors.New("no such file")) }
	p, err := pass.Look(o)
	must(t, err)
	if err := p.Make(ctx, broken{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("the error is %v", err)
	}
}
