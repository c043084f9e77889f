package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// scoring is a result folder that is being scored.
type scoring struct {
	*program
	flags    *scoreFlags
	dir      string
	manifest record.Manifest
	folder   *results.Folder
	suite    *spec.Document // whose scorers judge
	edited   bool           // the user named it
	budget   *pace.Budget
	set      *scorers.Set
	judging  []string // the scorers that judge
	remove   []string // those whose scores are taken back
}

// openScoring opens a folder, and the scorers that judge its runs.
func (p *program) openScoring(args []string, f *scoreFlags) (*scoring, error) {
	m, err := p.openManifest(args[0])
	if err != nil {
		return nil, err
	}
	s := &scoring{program: p, flags: f, dir: args[0], manifest: m, edited: len(args) > 1}
	if s.edited {
		o, err := p.openSuite(args[1], nil)
		if err != nil {
			return nil, err
		}
		p.warn(o, nil)
		s.suite = o.Document
	}
	return s, firstOfSteps(s.open, s.sameTasks, s.compile, s.name)
}

// firstOfSteps goes on as long as nothing fails.
func firstOfSteps(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// open opens the folder as it was recorded.
func (s *scoring) open() (err error) {
	s.folder, err = results.OpenManifest(s.dir, s.manifest, results.Options{Suite: s.suite})
	if err != nil {
		return fail(notMeasured, "agentbench version tells which one this is, and the manifest which one made it", "%s cannot be scored: %w", s.dir, err)
	}
	if s.edited {
		return nil
	}
	s.suite = s.folder.Document
	whole, err := s.folder.Whole(s.env)
	if err != nil {
		return nil // those that ask nobody can judge all the same
	}
	s.suite = whole
	return nil
}

// compile makes the scorers.
func (s *scoring) compile() error {
	s.budget = pace.OfSuite(s.suite.Suite.Budget)
	parts, err := engine.NewParts(s.suite, engine.BuildOptions{
		Getenv: s.env, Budget: s.budget, Cache: s.openCache(), CacheMode: s.flags.mode,
	})
	if err != nil {
		return s.unwired(err)
	}
	if s.flags.concurrency > 0 {
		s.suite.Suite.Concurrency = s.flags.concurrency
	}
	set, faults := scorers.New(s.suite.Suite.Scorers, scorers.Options{
		Resolved: s.folder.Document.Suite.Resolved, Baseline: s.manifest.Baseline, Outside: parts,
	})
	faults.Print(s.err)
	if faults.Err() != nil {
		return quiet(wrongSpec)
	}
	s.set = set
	return nil
}

func (s *scoring) openCache() *cache.Store {
	dir := s.flags.dir
	if dir == "" {
		dir = filepath.Join(filepath.Dir(filepath.Clean(s.dir)), cacheName)
	}
	return s.cacheAt(dir)
}

// name finds the scorers that the user named, or meant.
func (s *scoring) name() error {
	var known []string
	for _, v := range s.set.Versions() {
		known = append(known, v.Name)
	}
	for _, name := range s.flags.scorers {
		if !slices.Contains(known, name) {
			return usage(didYouMean(name, known, "there are: "+some(known)), "there is no scorer %q", name)
		}
	}
	if err := s.nameRemoved(known); err != nil {
		return err
	}
	s.judging = []string{}
	for _, v := range s.set.Versions() {
		wanted := len(s.flags.scorers) == 0 || slices.Contains(s.flags.scorers, v.Name)
		if !wanted || slices.Contains(s.remove, v.Name) {
			continue
		}
		if v.Asks && !s.edited && !s.asksAsRecorded(v.Name) {
			if len(s.flags.scorers) > 0 {
				return usage("agentbench score "+shellWord(s.dir)+" SUITE", "%s asks what is not in the folder: name the suite", v.Name)
			}
			fmt.Fprintf(s.err, "agentbench: warning: the scores of %s stay as they are: it asks what is not in the folder; name the suite\n", printable(v.Name))
			continue
		}
		s.judging = append(s.judging, v.Name)
	}
	judging := s.set.Only(func(name string) bool { return slices.Contains(s.judging, name) })
	if err := judging.Unable(); err != nil && !s.flags.dry {
		return s.unwired(err)
	}
	if len(s.judging)+len(s.remove) == 0 && !s.flags.compact {
		return usage("agentbench score "+shellWord(s.dir)+" SUITE", "%s has no scorer that can judge here", s.dir)
	}
	return nil
}

// asksAsRecorded says whether a scorer of the recorded suite asks as it did then: a
// program needs the suite's folder.
func (s *scoring) asksAsRecorded(name string) bool {
	if s.suite == s.folder.Document {
		return false
	}
	for i := range s.suite.Suite.Scorers {
		if scorer := &s.suite.Suite.Scorers[i]; scorer.Name == name {
			return !s.startsPrograms(scorer, map[string]bool{})
		}
	}
	return false
}

// startsPrograms says whether a scorer, or a part of it, is a program.
func (s *scoring) startsPrograms(scorer *spec.Scorer, seen map[string]bool) bool {
	seen[scorer.Name] = true
	if scorer.Type == "command" {
		return true
	}
	for _, part := range scorer.Parts {
		inner := part.Scorer
		for i := range s.suite.Suite.Scorers {
			if other := &s.suite.Suite.Scorers[i]; inner == nil && other.Name == part.Named {
				inner = other
			}
		}
		if inner != nil && !seen[inner.Name] && s.startsPrograms(inner, seen) {
			return true
		}
	}
	return false
}

// nameRemoved finds those whose scores are taken back: the ones that the user named,
// and those that an edited suite has no more.
func (s *scoring) nameRemoved(known []string) error {
	there := slices.Concat(s.manifest.Scorers, known)
	for _, name := range s.flags.remove {
		if !slices.Contains(there, name) {
			return usage(didYouMean(name, there, "there are: "+some(there)), "there is no scorer %q", name)
		}
	}
	s.remove = slices.Clone(s.flags.remove)
	if s.edited && len(s.flags.scorers) == 0 {
		for _, name := range s.declared() {
			if !slices.Contains(known, name) && !slices.Contains(s.remove, name) {
				s.remove = append(s.remove, name)
			}
		}
	}
	return nil
}

// declared are the scorers that the recorded suite declares, those that judged the
// log of another tool not among them.
func (s *scoring) declared() (names []string) {
	var recorded struct {
		Suite struct{ Scorers []struct{ Name string } }
	}
	if json.Unmarshal(s.manifest.Spec, &recorded) != nil {
		return nil // it declares none that can be read
	}
	for _, scorer := range recorded.Suite.Scorers {
		names = append(names, scorer.Name)
	}
	return names
}

// sameTasks refuses tasks that are not those that were run.
func (s *scoring) sameTasks() error {
	if !s.edited || s.flags.force {
		return nil
	}
	differences, err := s.taskDifferences()
	if err != nil {
		return fail(wrongSpec, "", "%w", err)
	}
	if len(differences) == 0 {
		return nil
	}
	return fail(wrongSpec, "--force scores the runs with these tasks; with --again also what is up to date",
		"the tasks of the suite are not those that were run:\n  %s", strings.Join(differences, "\n  "))
}

func (s *scoring) taskDifferences() (lines []string, err error) {
	other, err := s.folder.OtherTasks(s.suite)
	if err != nil {
		return nil, err
	}
	for _, file := range other {
		lines = append(lines, file+": its content has changed")
	}
	var was, is struct{ Suite struct{ Tasks any } }
	now, err := resolvedSpec(s.suite.Suite, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(readSpec(s.manifest.Spec, &was), readSpec(now, &is)); err != nil {
		return nil, err
	}
	if was.Suite.Tasks == nil { // a log of another tool
		return lines, nil
	}
	var d differences
	d.compare("tasks", was.Suite.Tasks, is.Suite.Tasks)
	lines = append(lines, d.lines()...)
	if more := len(lines) - mostDifferences; more > 0 {
		lines = append(lines[:mostDifferences:mostDifferences], "and "+count(more, "more difference", "more differences"))
	}
	return lines, nil
}

// keepLedger opens the ledger of the folder, which is held, until the function that
// it gives is called.
func (s *scoring) keepLedger() (end func() error, err error) {
	ledger, err := s.openLedger(s.dir, &s.manifest, s.suite.Suite, s.budget, s.manifest.Volatile.Paid)
	if err != nil || ledger == nil {
		return func() error { return nil }, err
	}
	return func() error {
		err := ledger.Close()
		sealed := ledger.Sealed()
		s.manifest.Volatile.Ledger = &sealed
		return err
	}, nil
}
