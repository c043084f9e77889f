package tune

import (
	"math"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// Held are recorded runs, against which configurations are held.
type Held struct {
	Scores    []string
	Runs      []sweep.Run
	Recorded  []sweep.Outcome // the runs as they were
	before    []total         // what they took, by spending; nil: not added up yet
	Tasks     []Task
	Clusters  int
	Simulated bool
}

// Task is a task with the places of its runs.
type Task struct {
	Cluster string
	Runs    []int
}

// Hold makes ready runs with scores of these names.
func Hold(runs []sweep.Run, scores []string) *Held {
	b := &Held{Scores: scores, Runs: runs}
	at, clusters := map[string]int{}, map[string]bool{}
	for i := range b.Runs {
		run := b.Runs[i].Run
		b.Recorded = append(b.Recorded, asItWas(&b.Runs[i]))
		place, known := at[run.Task]
		if !known {
			place = len(b.Tasks)
			at[run.Task] = place
			b.Tasks = append(b.Tasks, Task{Cluster: run.Cluster})
		}
		b.Tasks[place].Runs = append(b.Tasks[place].Runs, i)
		if run.Cluster != "" {
			clusters[run.Cluster] = true
		}
		b.Simulated = b.Simulated || run.Simulated
	}
	b.Clusters = len(clusters)
	return b
}

// asItWas is what a recorded run says of the configuration that made it.
func asItWas(run *sweep.Run) sweep.Outcome {
	o := sweep.Outcome{Result: replay.Result{
		Verdict: replay.Exact, Outcome: run.Run.Outcome, Iterations: len(run.Run.Iterations),
		Usage:   replay.Span{Least: run.Run.Usage, Most: run.Run.Usage},
		Judging: replay.Span{Least: run.Run.Judging, Most: run.Run.Judging},
		User:    replay.Span{Least: run.Run.User, Most: run.Run.User},
		Elapsed: run.Run.Elapsed,
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
