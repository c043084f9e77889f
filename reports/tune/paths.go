package tune

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Paths are what is recorded of a suite in order to tune a configuration. What replay
// answers is recorded once, under the loosest values; parameters that need calls make
// paths, one for each combination, and each is recorded.
type Paths struct {
	Of             string // the configuration that is tuned
	Configurations []sweep.Candidate
	Today          []int        // the path that today's configuration takes, if one does
	Axes           []sweep.Axis // all
	Replayed       []sweep.Axis // those that replay answers on each path
}

// PathsOf finds the paths of a configuration with parameters set in all that is tried.
// The error is a source.Faults, or one of usage.
func PathsOf(base *spec.Resolved, set []spec.Assignment, axes []sweep.Axis) (*Paths, error) {
	if err := sweep.Usable(1, set, axes); err != nil {
		return nil, err
	}
	if _, err := sweep.Probes(base.Loop, set, axes); err != nil {
		return nil, err
	}
	p := &Paths{Of: base.Name, Axes: slices.Clone(axes)}
	var fixed, loosest []spec.Assignment
	var calls []sweep.Axis
	for _, s := range set {
		if sweep.NeedsCalls(base.Loop, s.Path) {
			fixed = append(fixed, s)
		} else {
			alone := sweep.Axis{Path: s.Path, At: s.At, Values: []*source.Node{s.Value}}
			loosest = append(loosest, alone.Loosest(base.Loop)...)
		}
	}
	for a := range page.EachOf(p.Axes) {
		switch {
		case !sweep.NeedsCalls(base.Loop, a.Path):
			p.Replayed = append(p.Replayed, *a)
			loosest = append(loosest, a.Loosest(base.Loop)...)
		case a.Whole():
			calls = append(calls, *a)
		default:
			return nil, exit.Usage("name the values: "+a.Path+"=a,b,c", "%s needs calls for each value, so that none can be observed before", a.Path)
		}
	}
	var err error
	if p.Configurations, err = sweep.Grid([]sweep.Base{{Name: base.Name, Loop: base.Loop}}, append(fixed, loosest...), calls); err != nil {
		return nil, err
	}
	for i := range p.Configurations {
		c := &p.Configurations[i]
		c.Loop = c.Declared()
		if len(c.Params) > 0 {
			c.Name = spec.VariantName(base.Name, c.Name, func(name string) bool {
				return slices.ContainsFunc(p.Configurations[:i], func(c sweep.Candidate) bool { return c.Name == name })
			})
		}
		c.Params = append(slices.Clone(base.Params), c.Params...)
		if replay.Apart(c.Loop, base.Loop) == "" {
			p.Today = append(p.Today, i)
		}
	}
	return p, nil
}

// ConfigurationOf is the configuration of a suite whose loop is tuned: the one that is
// named, else the baseline, else the only one. path names the suite in errors.
func ConfigurationOf(s *spec.Suite, path, name string) (*spec.Resolved, error) {
	var known []string
	for i := range s.Resolved {
		known = append(known, s.Resolved[i].Name)
	}
	if name = cmp.Or(name, s.Baseline); name == "" && len(known) == 1 {
		name = known[0]
	}
	found := s.Configuration(name)
	switch {
	case name == "":
		return nil, exit.Usage("there are: "+exit.Some(known), "%s has %d configurations and no baseline: --configuration names the one that is tuned", path, len(known))
	case found == nil:
		return nil, exit.Usage(exit.DidYouMean(name, known, "there are: "+exit.Some(known)), "%s has no configuration %q", path, name)
	}
	return found, nil
}

// Loosest lists what a suite records in order to be tuned without named parameters,
// and which of its configurations are not tried, in lines.
func Loosest(today sweep.Base, all []sweep.Base, axes []sweep.Axis) (lines []string) {
	var loosest, apart []string
	for i := range axes {
		value := fmt.Sprint(today.Loop.ValueAt(axes[i].Path))
		if set := axes[i].Loosest(today.Loop); len(set) > 0 {
			value = set[0].Text()
		}
		loosest = append(loosest, axes[i].Path+" "+value)
	}
	for _, c := range all {
		if replay.Apart(today.Loop, c.Loop) != "" {
			apart = append(apart, page.Visible(c.Name))
		}
	}
	lines = append(lines, fmt.Sprintf("no parameters are named: %s is recorded under the loosest limits that the configurations of its path have: %s", page.Visible(today.Name), strings.Join(loosest, ", ")))
	if len(apart) > 0 {
		lines = append(lines, "not tried, because it would take calls of its own: "+exit.Some(apart)+"; --parameter names what differs")
	}
	return lines
}

// Names are those of the paths.
func (p *Paths) Names() (names []string) {
	for i := range p.Configurations {
		names = append(names, p.Configurations[i].Name)
	}
	return names
}

// Words say what is recorded and what is replayed, a sentence each.
func (p *Paths) Words() []string {
	words := []string{"one configuration is recorded, under the loosest values"}
	if n := len(p.Configurations); n > 1 {
		words[0] = fmt.Sprintf("%d configurations are recorded, each under the loosest values, because they need calls of their own; they race, so that the worse ones leave early", n)
	}
	for i := range p.Replayed {
		words = append(words, "replayed without a call: "+p.Replayed[i].List())
	}
	return words
}

// comparing is the type of scorers that judge a run beside that of another configuration.
const comparing = "pairwise"

// Comparing are the names of the scorers that compare runs with those of another
// configuration.
func Comparing(scorers []spec.Scorer) (names []string) {
	for i := range scorers {
		if scorers[i].Type == comparing {
			names = append(names, scorers[i].Name)
		}
	}
	return names
}

// Suite is a suite whose configurations are the paths. Scorers that compare their runs
// with those of the suite's own are left out, and the metrics that read them.
func (p *Paths) Suite(s *spec.Suite) *spec.Suite {
	suite, left := *s, Comparing(s.Scorers)
	suite.Resolved, suite.Baseline = nil, ""
	suite.Scorers = slices.DeleteFunc(slices.Clone(s.Scorers), func(scorer spec.Scorer) bool { return scorer.Type == comparing })
	suite.Metrics = slices.DeleteFunc(slices.Clone(s.Metrics), func(m spec.Metric) bool {
		of := m.Score
		if of == "" && len(s.Scorers) > 0 {
			of = s.Scorers[0].Name
		}
		return slices.Contains(left, of) || slices.Contains(left, m.By)
	})
	for _, c := range p.Configurations {
		suite.Resolved = append(suite.Resolved, spec.Resolved{Name: c.Name, Of: p.Of, Loop: c.Loop, Params: c.Params, Hash: c.Loop.Hash()})
	}
	return &suite
}

// RefuseComparing refuses to choose by what scorers say that compare: what is recorded
// are paths of one configuration, and nothing to compare them with.
func (o *ChoiceOptions) RefuseComparing(scorers []spec.Scorer) error {
	comparing := Comparing(scorers)
	if len(comparing) == 0 {
		return nil
	}
	for _, read := range o.ScoresRead(scorers[0].Name) {
		if !slices.Contains(comparing, read) {
			continue
		}
		hint := "tune needs a scorer that judges a run by itself"
		if at := slices.IndexFunc(scorers, func(s spec.Scorer) bool { return !slices.Contains(comparing, s.Name) }); at >= 0 {
			hint = "for example --objective " + exit.ShellWord(fmt.Sprintf("scores[%q].mean", page.Visible(scorers[at].Name)))
		}
		return exit.Usage(hint, `"%s" compares runs with those of another configuration, and tune records only the one that is tuned: it cannot choose by this score`, page.Visible(read))
	}
	return nil
}

// Contest is a race of paths by what is recorded of them. What is decided depends on
// the records alone, so that a resumed recording decides the same. Tasks of one cluster
// count as one: they are run together, and their scores are one score.
type Contest struct {
	*Race
	*Paths
	// Place is that of a task in the order of the race; tasks of a cluster share one.
	Place map[string]int
	// Tasks are all of the race, by id.
	Tasks map[string]*spec.Task
	// Score is raced by: the objective is its mean; "": it is something else, and
	// nothing is put out.
	Score    string
	minimize bool
}

// Contest begins a race of the paths of a suite by what is asked for.
func (p *Paths) Contest(s *spec.Suite, o *ChoiceOptions, tasks iter.Seq2[*spec.Task, error]) (*Contest, error) {
	c := &Contest{Paths: p, Place: map[string]int{}, Tasks: map[string]*spec.Task{}, Score: racedBy(s, o), minimize: o.Minimize}
	units := map[string]string{}
	for task, err := range tasks {
		if err != nil {
			return nil, err
		}
		c.Tasks[task.ID], units[task.ID] = task, "task "+task.ID
		if task.Cluster != "" {
			units[task.ID] = "cluster " + task.Cluster
		}
	}
	place := map[string]int{}
	for _, unit := range units {
		place[unit] = 0
	}
	for i, unit := range shuffled(place, uint64(s.Seed)) {
		place[unit] = i
	}
	for task, unit := range units {
		c.Place[task] = place[unit]
	}
	c.Race = NewRace(len(p.Configurations), len(place), p.Today)
	return c, nil
}

// racedBy is the score of which the objective is the mean, "" where it is something else.
func racedBy(s *spec.Suite, o *ChoiceOptions) string {
	if o.Objective == nil && len(s.Scorers) > 0 {
		return s.Scorers[0].Name
	}
	at := slices.IndexFunc(s.Scorers, func(of spec.Scorer) bool {
		return o.Objective != nil && slices.Contains([]string{fmt.Sprintf("scores[%q].mean", of.Name), fmt.Sprintf("scores['%s'].mean", of.Name), "scores." + of.Name + ".mean"}, o.Objective.Text)
	})
	if at < 0 {
		return ""
	}
	return s.Scorers[at].Name
}

// Places is how many there are.
func (c *Contest) Places() int { return c.tasks }

// Lines tell how the race went, a sentence each, names as quote shows them.
func (c *Contest) Lines(quote func(string) string) []string {
	return c.Race.Lines(c.Names(), c.Score, quote)
}

// NeedsTexts reports whether what is replayed of a path reads the texts of its runs.
func (c *Contest) NeedsTexts() bool {
	return slices.ContainsFunc(c.Configurations, func(path sweep.Candidate) bool {
		probes, err := sweep.Probes(path.Loop, nil, c.Replayed)
		return err != nil || slices.ContainsFunc(probes, func(l *spec.Loop) bool { return sweep.NeedsTexts(path.Loop, l) != "" })
	})
}

// Look puts out who is worse by the runs of the first so many places. recordings gives
// the runs, and is not asked where nothing can be decided.
func (c *Contest) Look(ctx context.Context, place int, recordings func() []sweep.Recording, o sweep.Options) error {
	scores := slices.Repeat([][][]float64{{nil}}, len(c.Configurations))
	if c.Score != "" && place < c.tasks {
		for _, recording := range recordings() {
			path := slices.Index(c.Names(), recording.Configuration)
			recording.Runs = slices.DeleteFunc(recording.Runs, func(run sweep.Run) bool { return c.Place[run.Run.Task] >= place })
			if path < 0 || !c.In(path) || len(recording.Runs) == 0 {
				continue
			}
			var err error
			if scores[path], err = c.scores(ctx, &recording, path, place, o); err != nil {
				return err
			}
		}
	}
	c.Race.Look(scores, place)
	return nil
}

// scores are those of each candidate of a path by place; the recorded one is the first.
func (c *Contest) scores(ctx context.Context, recording *sweep.Recording, path, places int, o sweep.Options) ([][]float64, error) {
	own := &c.Configurations[path]
	candidates := []sweep.Candidate{{Name: own.Name, Loop: recording.Loop}}
	axes := slices.Clone(c.Replayed)
	for i := range axes {
		if err := axes[i].Observe(sweep.Beside(own.Loop, axes, i), []sweep.Recording{*recording}); err != nil {
			return nil, err
		}
	}
	if len(axes) > 0 {
		grid, err := sweep.Grid([]sweep.Base{{Name: own.Name, Loop: own.Loop}}, nil, axes)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, grid...)
	}
	s, err := sweep.New([]sweep.Recording{*recording}, candidates, o)
	if err != nil {
		return nil, err
	}
	place := make([]int, len(s.Runs()))
	for i, run := range s.Runs() {
		place[i] = c.Place[run.Run.Task]
	}
	scores, score := make([][]float64, len(candidates)), slices.Index(s.Scores(), c.Score)
	err = s.Totals(ctx, place, places, func(candidate int, totals []sweep.Totals) { scores[candidate] = c.best01(totals, score) })
	return scores, err
}

// best01 is the most that a score can be by place: NaN where not all of its runs have one.
func (c *Contest) best01(byPlace []sweep.Totals, score int) []float64 {
	all := make([]float64, len(byPlace))
	for i := range byPlace {
		all[i] = math.NaN()
		if t := &byPlace[i]; score >= 0 && score < len(t.Scores) && t.Scores[score].Known == t.Runs && t.Runs > 0 {
			s := &t.Scores[score]
			all[i] = s.Most / float64(s.Known)
			if c.minimize {
				all[i] = 1 - s.Least/float64(s.Known)
			}
		}
	}
	return all
}
