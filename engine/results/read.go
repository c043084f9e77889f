package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// Selection is what is read of a folder.
type Selection struct {
	// Configurations are the names of those that are read; none: all.
	Configurations []string
	// Texts means that outputs and tool calls are needed as they are. Without them runs are
	// light, and can be replayed only where nothing reads texts: see [sweep.NeedsTexts].
	Texts bool
	// Faults are runs that ended in a fault: replays that stop before it can use them.
	Faults bool
}

// Notes count what is not among the runs.
type Notes struct {
	Faults, Cancelled int
	// UnknownConfigurations are runs of configurations that the manifest does not have.
	UnknownConfigurations int
	// Others were made by a loop that is not the recorded one of their configuration:
	// results of several specs were mixed.
	Others int
	// Repeated are runs that stood in the folder already.
	Repeated int
	// Taskless are runs of tasks that are not among the tasks at hand.
	Taskless int
}

// Read reads the runs that count, a recording for each configuration that has
// some, in the order of the manifest.
func (f *Folder) Read(s Selection) ([]sweep.Recording, Notes, error) {
	c := f.collect(s)
	if err := c.read(); err != nil {
		return nil, c.notes, err
	}
	c.forgetRemoved()
	for task, err := range f.tasks.Tasks() {
		if err != nil {
			return nil, c.notes, fmt.Errorf("reading the tasks: %w", err)
		}
		if known, wanted := c.tasks[task.ID]; wanted && known == nil {
			c.tasks[task.ID] = task
		}
	}
	return c.recordings(), c.notes, nil
}

func (f *Folder) collect(s Selection) *collection {
	return &collection{folder: f, selection: s, places: map[string]int{}, faults: map[string]*record.Run{}, tasks: map[string]*spec.Task{}}
}

// Following is a folder that runs are added to while they are made: what is there is
// read once, and nothing after that. Several may add.
type Following struct {
	mu    sync.Mutex
	c     *collection
	tasks map[string]*spec.Task
}

// Follow reads the runs that count so far. tasks are those of all runs to come, by
// their ids.
func (f *Folder) Follow(s Selection, tasks map[string]*spec.Task) (*Following, error) {
	l := &Following{c: f.collect(s), tasks: tasks}
	return l, l.c.read()
}

// Add adds a run that was written, with its scores.
func (l *Following) Add(run *record.Run, scores []record.Score) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.c.selection.Texts {
		run = run.Light()
	}
	l.c.add(run)
	for i := range scores {
		l.c.score(&scores[i])
	}
}

// Recordings are the runs so far, as Read would give them.
func (l *Following) Recordings() []sweep.Recording {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c.forgetRemoved()
	l.c.tasks = l.tasks
	return l.c.recordings()
}

// collection is a folder that is being read.
type collection struct {
	folder    *Folder
	selection Selection
	all       []sweep.Run
	scores    []string
	places    map[string]int         // of runs among all, by their ids
	faults    map[string]*record.Run // the last attempts of runs that ended in a fault, by their ids
	tasks     map[string]*spec.Task
	notes     Notes
}

// read reads the runs and their scores.
func (c *collection) read() error {
	runs := record.ReadLight
	if c.selection.Texts {
		runs = record.ReadRuns
	}
	for run, err := range runs(c.folder.Path) {
		if err != nil {
			return fmt.Errorf("reading the runs: %w", err)
		}
		c.add(run)
	}
	c.keepFaults()
	for score, err := range record.ReadScores(c.folder.Path) {
		if err != nil {
			return fmt.Errorf("reading the scores: %w", err)
		}
		c.score(&score)
	}
	return nil
}

func (c *collection) add(run *record.Run) {
	head, known := c.folder.Manifest.Configuration(run.Configuration)
	_, repeated := c.places[run.ID]
	switch only := c.selection.Configurations; {
	case !known:
		c.notes.UnknownConfigurations++
	case len(only) > 0 && !slices.Contains(only, head.Name):
	case run.Outcome.Status == record.Cancelled:
		c.notes.Cancelled++
	case run.Loop != "" && head.Loop != "" && run.Loop != head.Loop:
		c.notes.Others++
	case !run.Outcome.Counts():
		c.faults[run.ID] = run
	case repeated:
		c.notes.Repeated++
	default:
		c.keep(run)
	}
}

func (c *collection) keep(run *record.Run) {
	c.places[run.ID] = len(c.all)
	if c.tasks[run.Task] == nil {
		c.tasks[run.Task] = nil // wanted
	}
	c.all = append(c.all, sweep.Run{Recorded: replay.Recorded{Run: run}})
}

// keepFaults keeps runs that ended in a fault, and were not made again, or counts them. A configuration of which no
// run counts has nothing to be replayed.
func (c *collection) keepFaults() {
	counts := map[string]bool{}
	for i := range c.all {
		counts[c.all[i].Run.Configuration] = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.faults)) {
		switch _, again := c.places[id]; {
		case again:
		case c.selection.Faults && counts[c.faults[id].Configuration]:
			c.keep(c.faults[id])
		default:
			c.notes.Faults++
		}
	}
}

// recordings are the runs by configuration, ordered by task and trial. A task that is not at
// hand has nothing but its id.
func (c *collection) recordings() []sweep.Recording {
	var all []sweep.Recording
	c.notes.Taskless = 0
	reads := make([]sweep.Reads, len(c.scores))
	for i, name := range c.scores {
		reads[i] = c.folder.Reads(name)
	}
	for i := range c.folder.Manifest.Configurations {
		name := c.folder.Manifest.Configurations[i].Name
		var runs []sweep.Run
		for _, run := range c.all {
			if run.Run.Configuration != name {
				continue
			}
			if run.Task = c.tasks[run.Run.Task]; run.Task == nil {
				run.Task = &spec.Task{ID: run.Run.Task, Input: ""}
				c.notes.Taskless++
			}
			runs = append(runs, run)
		}
		if len(runs) == 0 {
			continue
		}
		slices.SortFunc(runs, func(a, b sweep.Run) int {
			return cmp.Or(strings.Compare(a.Run.Task, b.Run.Task), cmp.Compare(a.Run.Trial, b.Run.Trial))
		})
		all = append(all, sweep.Recording{Configuration: name, Loop: c.folder.Loop(name), Announced: c.folder.Announced,
			Scores: c.scores, Reads: reads, Runs: runs})
	}
	return all
}

// score keeps a score; of several on the same thing the last one counts, unless it
// was taken back. The values of a run are its own, then those of its iterations.
func (c *collection) score(s *record.Score) {
	at, ok := c.places[s.Run]
	if !ok {
		return
	}
	run := &c.all[at]
	if s.Iteration < 0 || s.Iteration > len(run.Run.Iterations) {
		return
	}
	if len(c.scores) == 0 {
		c.scores = slices.Clone(c.folder.Manifest.Scorers)
	}
	name := slices.Index(c.scores, s.Name)
	if name < 0 {
		name = len(c.scores)
		c.scores = append(c.scores, s.Name)
	}
	for len(run.Scores) <= name {
		run.Scores = append(run.Scores, nil)
	}
	if run.Scores[name] == nil {
		run.Scores[name] = slices.Repeat([]float64{math.NaN()}, 1+len(run.Run.Iterations))
	}
	value := s.Value
	if s.Unscored != "" || s.Removed {
		value = math.NaN()
	}
	run.Scores[name][s.Iteration] = value
}

// forgetRemoved drops the scores that the manifest does not name and of which all
// were taken back.
func (c *collection) forgetRemoved() {
	number := func(v float64) bool { return !math.IsNaN(v) }
	for at := len(c.scores) - 1; at >= len(c.folder.Manifest.Scorers); at-- {
		if slices.ContainsFunc(c.all, func(r sweep.Run) bool { return at < len(r.Scores) && slices.ContainsFunc(r.Scores[at], number) }) {
			continue
		}
		c.scores = slices.Delete(c.scores, at, at+1)
		for i := range c.all {
			if r := &c.all[i]; at < len(r.Scores) {
				r.Scores = slices.Delete(r.Scores, at, at+1)
			}
		}
	}
}

// Reads is what a score depends on, by what its scorer reads.
func (f *Folder) Reads(name string) sweep.Reads {
	s := f.scorer(name)
	if s == nil {
		return sweep.ReadsUnknown
	}
	switch d := f.dependsOf(s, 0); {
	case d.stop:
		return sweep.ReadsStop
	case d.course && (d.output || d.iteration):
		return sweep.ReadsAround
	case d.course:
		return sweep.ReadsCourse
	case d.iteration:
		return sweep.ReadsUnknown
	}
	return sweep.ReadsOutput
}

func (f *Folder) scorer(name string) *spec.Scorer {
	scorers := f.Document.Suite.Scorers
	at := slices.IndexFunc(scorers, func(s spec.Scorer) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	return &scorers[at]
}

// around are the variables of scorers that change with where a run stops.
var around = []string{"best", "iterations", "usage"}

// deepest is how deep sets are within sets; the loader of suites refuses those that are
// part of themselves.
const deepest = 100

// depends says what a score depends on: the output that is returned, how that
// iteration was judged or ended, what was done until the run stopped, why it did.
type depends struct{ output, iteration, course, stop bool }

// dependsOf goes by the type of a scorer and by what its expressions read. A set
// depends on what its parts do.
func (f *Folder) dependsOf(s *spec.Scorer, depth int) (d depends) {
	kind, expressions := s.Kind(), []*spec.Expr{s.Value, s.Target, s.Expr}
	if s.Extract != nil {
		expressions = append(expressions, s.Extract.Expr)
	}
	reads := func(name string) bool {
		return slices.ContainsFunc(expressions, func(e *spec.Expr) bool {
			return e != nil && e.Program != nil && slices.ContainsFunc(e.Reads(), func(path string) bool {
				variable, _, _ := strings.Cut(path, ".")
				return variable == name
			})
		})
	}
	d.course = kind.Course || slices.ContainsFunc(around, reads)
	d.stop = reads("stop")
	d.iteration = s.Type == "checks" || s.Type == "finish_reason"
	d.output = reads("output")
	switch {
	case len(s.Parts) > 0, d.iteration, s.Type == "cel", kind.Course:
	case s.Value == nil, kind.Asks:
		d.output = true
	}
	for i := range s.Parts {
		part := s.Parts[i].Scorer
		if part == nil {
			part = f.scorer(s.Parts[i].Named)
		}
		if part == nil || depth == deepest {
			d.iteration = true // it is unknown
			continue
		}
		o := f.dependsOf(part, depth+1)
		d = depends{d.output || o.output, d.iteration || o.iteration, d.course || o.course, d.stop || o.stop}
	}
	return d
}
