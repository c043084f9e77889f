package tune

import (
	"math"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// replaying are recorded runs, against which configurations are held.
type replaying struct {
	scores    []string
	runs      []sweep.Run
	recorded  []sweep.Outcome // the runs as they were
	tasks     []taskOf
	clusters  int
	simulated bool
}

// taskOf is a task with the places of its runs.
type taskOf struct {
	cluster string
	runs    []int
}

func newReplaying(runs []sweep.Run, scores []string) *replaying {
	b := &replaying{scores: scores, runs: runs}
	at, clusters := map[string]int{}, map[string]bool{}
	for i := range b.runs {
		run := b.runs[i].Run
		b.recorded = append(b.recorded, asItWas(&b.runs[i]))
		place, known := at[run.Task]
		if !known {
			place = len(b.tasks)
			at[run.Task] = place
			b.tasks = append(b.tasks, taskOf{cluster: run.Cluster})
		}
		b.tasks[place].runs = append(b.tasks[place].runs, i)
		if run.Cluster != "" {
			clusters[run.Cluster] = true
		}
		b.simulated = b.simulated || run.Simulated
	}
	b.clusters = len(clusters)
	return b
}

// asItWas is what a recorded run says of the configuration that made it.
func asItWas(run *sweep.Run) sweep.Outcome {
	o := sweep.Outcome{Result: replay.Result{
		Verdict: replay.Exact, Outcome: run.Run.Outcome, Iterations: len(run.Run.Iterations),
		Usage:   replay.Span{Least: run.Run.Usage, Most: run.Run.Usage},
		Judging: replay.Span{Least: run.Run.Judging, Most: run.Run.Judging}, Elapsed: run.Run.Elapsed,
	}}
	for _, scores := range run.Scores {
		o.Scores = append(o.Scores, pointOf(scores))
	}
	return o
}

// pointOf is the score of the run itself, the first of its scores.
func pointOf(scores []float64) sweep.Range {
	if len(scores) == 0 {
		return sweep.Range{Least: math.NaN(), Most: math.NaN()}
	}
	return sweep.Range{Least: scores[0], Most: scores[0]}
}
