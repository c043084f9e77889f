package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
)

// BaselineOptions say what a baseline is made of. The zero value takes all
// configurations.
type BaselineOptions struct {
	// Configurations are the names of those that are kept; none means all.
	Configurations []string
	// Redact hides secrets, as that of [Options].
	Redact func([]byte) []byte
}

// ErrNoneCounts is about results of which no run counts.
var ErrNoneCounts = errors.New("no run counts")

// WriteBaseline writes results as a baseline. Results with bad lines are
// refused, a baseline is kept for long, and results of which no run counts.
func WriteBaseline(to io.Writer, from *Results, options BaselineOptions) error {
	b := newBaseline(from, options)
	if err := b.read(from); err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	if t := b.totals(); t.Completed+t.Failed == 0 {
		return ErrNoneCounts
	}
	if err := b.write(to); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return nil
}

// baseline is one in the making.
type baseline struct {
	head   baselineHead
	place  map[string]int // of the configurations
	runs   []baselineRun
	at     map[string]int // the index of a run by its id
	redact func([]byte) []byte
}

func newBaseline(from *Results, options BaselineOptions) *baseline {
	m := from.Manifest
	m.Volatile, m.Brief = ManifestVolatile{}, true
	if len(options.Configurations) > 0 {
		m.Configurations = slices.DeleteFunc(slices.Clone(m.Configurations), func(c ConfigurationHead) bool {
			return !slices.ContainsFunc(options.Configurations, c.Called)
		})
	}
	b := &baseline{
		head:  baselineHead{Version: Version, Scorers: map[string]string{}, Manifest: m},
		place: map[string]int{}, at: map[string]int{}, redact: options.Redact,
	}
	for i := range m.Configurations {
		b.place[m.Configurations[i].Name] = i
	}
	if _, ok := b.place[m.Baseline]; !ok {
		b.head.Manifest.Baseline = ""
	}
	return b
}

func (b *baseline) read(from *Results) error {
	for s, err := range from.Signals() {
		if err != nil {
			return err
		}
		if s.negative() { // no reader would take it
			return fmt.Errorf("run %s: %w", s.ID, errNegative)
		}
		b.add(s)
	}
	for s, err := range from.Scores() {
		if err != nil {
			return err
		}
		b.score(s)
	}
	return nil
}

// add keeps what a baseline holds of a run of a known configuration.
func (b *baseline) add(s *Signals) {
	if _, ok := b.place[s.Configuration]; !ok {
		return
	}
	kept := brief(s)
	if at, ok := b.at[s.ID]; ok {
		b.runs[at] = kept
		return
	}
	b.at[s.ID] = len(b.runs)
	b.runs = append(b.runs, kept)
}

// score keeps the score of a run; of several by one scorer the last one, unless
// it was taken back.
func (b *baseline) score(s Score) {
	at, ok := b.at[s.Run]
	if !ok || s.Iteration != 0 {
		return
	}
	s.Answer, s.Explanation, s.Votes = "", "", nil // not to hold them
	run := &b.runs[at]
	i := slices.IndexFunc(run.scores, func(t Score) bool { return t.Name == s.Name })
	switch {
	case i >= 0 && s.Removed:
		run.scores = slices.Delete(run.scores, i, i+1)
	case i >= 0:
		run.scores[i] = s
	case !s.Removed:
		run.scores = append(run.scores, s)
	}
}

// sort puts everything in the one order that a baseline has.
func (b *baseline) sort() {
	slices.SortFunc(b.runs, func(x, y baselineRun) int {
		return cmp.Or(cmp.Compare(b.place[x.Configuration], b.place[y.Configuration]), cmp.Compare(x.Task, y.Task), cmp.Compare(x.Trial, y.Trial))
	})
	place := func(s Score) int {
		if at := slices.Index(b.head.Manifest.Scorers, s.Name); at >= 0 {
			return at
		}
		return math.MaxInt
	}
	b.head.Runs = len(b.runs)
	b.head.Manifest.Totals = b.totals()
	b.head.Schema = b.schema()
	for i := range b.runs {
		scores := b.runs[i].scores
		slices.SortFunc(scores, func(x, y Score) int {
			return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x.Name, y.Name))
		})
		for _, s := range scores {
			if _, known := b.head.Scorers[s.Name]; !known && s.Scorer != "" {
				b.head.Scorers[s.Name] = s.Scorer
			}
		}
	}
}

// schema is the oldest form that holds everything.
func (b *baseline) schema() string {
	switch {
	case slices.ContainsFunc(b.runs, func(r baselineRun) bool { return r.Untimed || r.Signals.Total().Uncounted > 0 }):
		return BaselineSchema
	case slices.ContainsFunc(b.runs, func(r baselineRun) bool { return r.Group != "" }):
		return baselineSchemas + strconv.Itoa(baselineGroups)
	case b.head.Manifest.Totals.User != (Usage{}):
		return baselineSchemas + strconv.Itoa(baselineUsers)
	}
	return baselineSchemas + strconv.Itoa(baselineOldest)
}

// totals are those of the configurations that are kept.
func (b *baseline) totals() Totals {
	m := &b.head.Manifest
	t := Totals{Planned: m.Tasks * m.Trials * len(m.Configurations)}
	for i := range b.runs {
		t.Add(&b.runs[i].Signals)
	}
	return t
}

func (b *baseline) write(to io.Writer) error {
	b.sort()
	out := bufio.NewWriterSize(to, 1<<16)
	for line, err := range b.lines() {
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// lines are the lines of the file, each valid until the next one.
func (b *baseline) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		line, err := b.headLine()
		if !yield(line, err) {
			return
		}
		for i := range b.runs {
			line, err = b.line(line[:0], &b.runs[i])
			if !yield(line, err) {
				return
			}
		}
	}
}

func (b *baseline) headLine() ([]byte, error) {
	line, err := appendObject(nil, &b.head)
	if err != nil {
		return nil, err
	}
	if b.redact != nil {
		line = slices.Clone(b.redact(line))
	}
	return seal(line, 0)
}

func (b *baseline) line(dst []byte, run *baselineRun) ([]byte, error) {
	w := writer{to: append(dst, lineHead...)}
	w.baselineRun(run, &b.head)
	if w.err != nil {
		return nil, fmt.Errorf("run %s: %w", run.ID, w.err)
	}
	if b.redact != nil && string(b.redact(w.to)) != string(w.to) {
		return nil, fmt.Errorf("run %s: %w", run.ID, errSecretName)
	}
	return seal(w.to, len(dst))
}
