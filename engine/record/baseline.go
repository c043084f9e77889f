package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A baseline is a result folder without its trajectories, in one file that is
// small enough for git. It holds JSON lines with checksums: first a head with
// the manifest, then one line a run, sorted by configuration, task and trial:
//
//	{"crc":"…","v":1,"schema":"agentbench/baseline/1","runs":2,"scorers":{"close":"…"},"manifest":{…}}
//	{"crc":"…","configuration":"default","task":"backend-1","trial":1,"status":"completed", …,"scores":{"close":1}}
//
// The same results give the same bytes. There is no text of an output in it.

// BaselineSchema names the newest form of a baseline. Its number rises with
// whatever an older reader would not understand; what has nothing of that is
// written in the form before.
const BaselineSchema = baselineSchemas + "4"

const (
	baselineSchemas = "agentbench/baseline/"
	baselineNumber  = 4
	// baselineGroups is without times and tokens that are unknown.
	baselineGroups = 3
	// baselineUsers is without groups of tasks.
	baselineUsers = 2
	// baselineOldest is without what users used.
	baselineOldest = 1
)

// baselineHead is the first line.
type baselineHead struct {
	Version int    `json:"v"`
	Schema  string `json:"schema"`
	// Runs is how many lines follow.
	Runs int `json:"runs"`
	// Scorers are the hashes of the scorers' specs, by their names. A run that
	// was judged by another version of one says so itself.
	Scorers  map[string]string `json:"scorers,omitempty"`
	Manifest Manifest          `json:"manifest"`
}

// baselineRun is a line of a run.
type baselineRun struct {
	Signals
	iterations int
	// rated says that the returned iteration has a confidence, evaluated that any
	// iteration was evaluated.
	rated, evaluated bool
	confidence       float64
	failed           ErrorClass // the last iteration's error, where all failed
	scores           []Score    // in the order of the manifest, then by name
}

// brief keeps of a run what a baseline holds.
func brief(s *Signals) baselineRun {
	b := baselineRun{Signals: *s, iterations: len(s.Iterations)}
	failed := 0
	for i := range s.Iterations {
		it := &s.Iterations[i]
		b.evaluated = b.evaluated || it.Evaluated
		if it.Error != "" {
			failed++
			b.failed = it.Error
		}
	}
	if failed < b.iterations {
		b.failed = ""
	}
	if n := s.Outcome.Returned; n > 0 && n <= b.iterations && s.Iterations[n-1].Evaluated {
		b.rated, b.confidence = true, s.Iterations[n-1].Confidence
	}
	b.Iterations, b.Checks, b.Outcome.Held = nil, nil, nil
	return b
}

// signals is the run as a result folder would have it, as far as it is known.
func (b *baselineRun) signals() *Signals {
	s := b.Signals
	s.Version = Version
	s.Iterations = make([]IterationSignals, b.iterations)
	for i := range s.Iterations {
		s.Iterations[i] = IterationSignals{N: i + 1, Error: b.failed, Evaluated: b.evaluated && !b.rated}
	}
	if b.rated {
		returned := &s.Iterations[s.Outcome.Returned-1]
		returned.Evaluated, returned.Confidence = true, b.confidence
	} else if n := s.Outcome.Returned; n > 0 {
		s.Iterations[n-1].Evaluated = false
	}
	return &s
}

// readBaselineHead reads the object of the first line. ours says that it is that
// of a baseline, of whatever version.
func readBaselineHead(object []byte) (head *baselineHead, ours bool, err error) {
	var form struct {
		Version int    `json:"v"`
		Schema  string `json:"schema"`
	}
	if err := json.Unmarshal(object, &form); err != nil {
		return nil, false, err
	}
	ours = strings.HasPrefix(form.Schema, baselineSchemas)
	if err := knownBaseline(form.Schema); err != nil {
		return nil, ours, err
	}
	if err := knownVersion(form.Version); err != nil {
		return nil, ours, err
	}
	head = &baselineHead{}
	if err := json.Unmarshal(object, head); err != nil {
		return nil, ours, err
	}
	head.Manifest.Brief = true
	return head, ours, head.Manifest.countable()
}

func knownBaseline(schema string) error {
	number, err := strconv.Atoi(strings.TrimPrefix(schema, baselineSchemas))
	switch {
	case schema == "":
		return errors.New("line 1 is not the head of one")
	case err != nil || !strings.HasPrefix(schema, baselineSchemas):
		return fmt.Errorf("it has the schema %q, not %s", schema, BaselineSchema)
	case number > baselineNumber:
		return fmt.Errorf("a newer agentbench wrote it (%s, this one knows %s)", schema, BaselineSchema)
	case number < baselineOldest:
		return fmt.Errorf("an older agentbench wrote it (%s, this one knows %s)", schema, BaselineSchema)
	}
	return nil
}

// knownVersion refuses what other versions of this package wrote.
func knownVersion(version int) error {
	switch {
	case version > Version:
		return fmt.Errorf("a newer agentbench wrote it (format %d, this one knows %d)", version, Version)
	case version < oldest:
		return fmt.Errorf("an older agentbench wrote it (format %d, this one knows %d and later)", version, oldest)
	}
	return nil
}

// oldest is the first version that can still be read.
const oldest = 1
