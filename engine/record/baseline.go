package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// baselineRun is a run as a baseline holds it.
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

// baselineLine is the line of a run. What the head tells of all runs holds for one
// that says nothing else.
type baselineLine struct {
	Configuration string         `json:"configuration"`
	Task          string         `json:"task"`
	Trial         int            `json:"trial"`
	Cluster       string         `json:"cluster,omitempty"`
	Group         string         `json:"group,omitempty"`
	Loop          *string        `json:"loop,omitempty"`
	Status        Status         `json:"status"`
	Reason        Reason         `json:"reason,omitempty"`
	Class         Class          `json:"class,omitempty"`
	Fired         string         `json:"fired,omitempty"`
	Error         *ErrorClass    `json:"error,omitempty"`
	Success       bool           `json:"success,omitempty"`
	Iterations    int            `json:"iterations"`
	Returned      int            `json:"returned,omitempty"`
	Failed        ErrorClass     `json:"failed,omitempty"`
	Evaluated     bool           `json:"evaluated,omitempty"`
	Confidence    *float64       `json:"confidence,omitempty"`
	Elapsed       time.Duration  `json:"elapsed_ns"`
	Untimed       bool           `json:"untimed,omitempty"`
	Usage         Usage          `json:"usage"`
	Judging       Usage          `json:"judging,omitzero"`
	User          Usage          `json:"user,omitzero"`
	Simulated     bool           `json:"simulated,omitempty"`
	Scores        baselineScores `json:"scores,omitempty"`
	Scorers       scorerHashes   `json:"scorers,omitempty"`
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

// unscoredInBaseline stands for why a run is unscored: the reason may quote
// what a model said.
const unscoredInBaseline = "as the baseline tells, which does not say why"

// baselineScores are an object of values by the scorers' names; null is unscored.
type baselineScores []Score

func (scores *baselineScores) encode(w *writer) {
	w.to = append(w.to, '{')
	for i := range *scores {
		s := &(*scores)[i]
		w.name(s.Name)
		if s.Unscored != "" {
			w.to = append(w.to, "null"...)
			continue
		}
		w.number(s.Value)
		w.at("the score " + s.Name)
	}
	w.to = append(w.to, '}')
}

func (scores *baselineScores) decode(r *reader) {
	for key := range r.object() {
		s := Score{Name: r.shared(key)}
		if r.next() == 'n' {
			r.word("null")
			s.Unscored = unscoredInBaseline
		} else {
			s.Value = r.number()
		}
		*scores = append(*scores, s)
	}
}

// scorerHashes are an object of the hashes of scorers by their names, in the order
// of the scores.
type scorerHashes []Score

func (scores *scorerHashes) encode(w *writer) {
	w.to = append(w.to, '{')
	for i := range *scores {
		w.name((*scores)[i].Name)
		w.to = appendString(w.to, (*scores)[i].Scorer)
	}
	w.to = append(w.to, '}')
}

func (scores *scorerHashes) decode(r *reader) {
	for key := range r.object() {
		name := r.shared(key)
		*scores = append(*scores, Score{Name: name, Scorer: r.string()})
	}
}

// lineOf is the line of a run.
func (h *baselineHead) lineOf(r *baselineRun) *baselineLine {
	o := &r.Outcome
	l := &baselineLine{
		Configuration: r.Configuration, Task: r.Task, Trial: r.Trial, Cluster: r.Cluster, Group: r.Group,
		Status: o.Status, Reason: o.Reason, Class: o.Class, Fired: o.Fired, Success: o.Success,
		Iterations: r.iterations, Returned: o.Returned, Failed: r.failed, Evaluated: r.evaluated,
		Elapsed: r.Elapsed, Untimed: r.Untimed, Usage: r.Usage, Judging: r.Judging, User: r.User, Simulated: r.Simulated, Scores: r.scores,
		Scorers: slices.DeleteFunc(slices.Clone(r.scores), func(s Score) bool { return h.Scorers[s.Name] == s.Scorer }),
	}
	if h.loop(r.Configuration) != r.Loop {
		l.Loop = &r.Loop
	}
	if o.Error != nil {
		l.Error = &o.Error.Class
	}
	if r.rated {
		l.Confidence = &r.confidence
	}
	return l
}

// runOf is the run of a line.
func (h *baselineHead) runOf(l *baselineLine) baselineRun {
	r := baselineRun{
		Signals: Signals{
			ID: RunID(l.Configuration, l.Task, l.Trial), Configuration: l.Configuration, Task: l.Task, Trial: l.Trial,
			Cluster: l.Cluster, Group: l.Group, Loop: h.loop(l.Configuration),
			Outcome: Outcome{Status: l.Status, Reason: l.Reason, Class: l.Class, Fired: l.Fired, Success: l.Success, Returned: l.Returned},
			Elapsed: l.Elapsed, Untimed: l.Untimed, Usage: l.Usage, Judging: l.Judging, User: l.User, Simulated: l.Simulated,
		},
		iterations: l.Iterations, failed: l.Failed, evaluated: l.Evaluated, scores: l.Scores,
	}
	if l.Loop != nil {
		r.Loop = *l.Loop
	}
	if l.Error != nil {
		r.Outcome.Error = &Error{Class: *l.Error}
	}
	if r.rated = l.Confidence != nil; r.rated {
		r.confidence = *l.Confidence
	}
	for i := range r.scores {
		s := &r.scores[i]
		s.Run, s.Scorer = r.ID, h.Scorers[s.Name]
		for _, own := range l.Scorers {
			if own.Name == s.Name {
				s.Scorer = own.Scorer
			}
		}
	}
	return r
}

// loop is the hash of a configuration's loop, as the manifest has it.
func (h *baselineHead) loop(configuration string) string {
	for i := range h.Manifest.Configurations {
		if c := &h.Manifest.Configurations[i]; c.Name == configuration {
			return c.Loop
		}
	}
	return ""
}

// openBaseline reads the head of a baseline.
func openBaseline(path string) (*Results, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	defer f.Close()
	text, err := bufio.NewReader(io.LimitReader(unixLines{f}, longestLine)).ReadBytes('\n')
	if len(text) == 0 && err == io.EOF {
		return nil, &NoBaseline{File: path, What: "it is empty"}
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	object, err := objectOf(filepath.Base(path), text, place{})
	if problem := (*Problem)(nil); errors.As(err, &problem) {
		return nil, &NoBaseline{File: path, What: "line 1: " + problem.What, Ours: problem.What == errChecksum.Error()}
	}
	head, ours, err := readBaselineHead(object)
	if err != nil {
		return nil, &NoBaseline{File: path, What: err.Error(), Ours: ours}
	}
	return &Results{Path: path, Manifest: head.Manifest, baseline: head}, nil
}

// unixLines drops carriage returns, which no line has and git may add.
type unixLines struct{ in io.Reader }

func (u unixLines) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	kept := p[:0]
	for rest := p[:n]; len(rest) > 0; {
		part, after, _ := bytes.Cut(rest, []byte{'\r'})
		kept, rest = append(kept, part...), after
	}
	return len(kept), err
}

func (r *Results) baselineSignals() iter.Seq2[*Signals, error] {
	return func(yield func(*Signals, error) bool) {
		for run, err := range r.baselineRuns() {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !yield(run.signals(), nil) {
				return
			}
		}
	}
}

// baselineScores tells only of errors of which the signals did not tell.
func (r *Results) baselineScores() iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		for run, err := range r.baselineRuns() {
			var problem *Problem
			if err != nil {
				if !errors.As(err, &problem) && !yield(Score{}, err) {
					return
				}
				continue
			}
			for i := range run.scores {
				if !yield(run.scores[i], nil) {
					return
				}
			}
		}
	}
}

// baselineRuns are the lines behind the head; a run is valid until the next one.
// Bad lines are *Problems, and the reading goes on; any other error is the last
// element.
func (r *Results) baselineRuns() iter.Seq2[*baselineRun, error] {
	return func(yield func(*baselineRun, error) bool) {
		f, err := openFile(r.Path)
		if err != nil {
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		defer f.Close()
		in := &baselineReader{file: filepath.Base(r.Path), head: r.baseline}
		in.runs(f, yield)
	}
}

// baselineReader reads the lines of a baseline.
type baselineReader struct {
	file  string
	head  *baselineHead
	run   baselineRun
	last  baselineKey
	found int
	bad   int // lines
	place map[string]int
}

// baselineKey is what the lines are sorted by.
type baselineKey struct {
	configuration int
	task          string
	trial         int
}

func (b *baselineReader) runs(in io.Reader, yield func(*baselineRun, error) bool) {
	b.place = map[string]int{}
	for i := range b.head.Manifest.Configurations {
		b.place[b.head.Manifest.Configurations[i].Name] = i
	}
	b.last.configuration = -1
	lines := bufio.NewReader(unixLines{in})
	head, err := lines.ReadBytes('\n') // it was read before
	if err != nil {
		yield(nil, fmt.Errorf("reading the baseline: %w", err))
		return
	}
	end := place{1, int64(len(head))}
	for l, err := range walk(b.file, lines, end, readBaselineLine) {
		if err == nil {
			end = l.end()
			err = b.line(l)
		}
		b.count(err)
		if !yield(&b.run, err) {
			return
		}
	}
	if missing := b.head.Runs - b.found; missing > 0 && b.bad == 0 {
		yield(nil, &Problem{File: b.file, Line: end.line + 1, Lines: missing, Offset: end.offset, Torn: true,
			What: fmt.Sprintf("it breaks off: %d of %d runs are there", b.found, b.head.Runs)})
	} else if missing < 0 {
		yield(nil, fmt.Errorf("%s holds %d runs, and its head tells of %d: it was put together from several files", b.file, b.found, b.head.Runs))
	}
}

func (b *baselineReader) count(err error) {
	var problem *Problem
	switch {
	case err == nil:
		b.found++
	case errors.As(err, &problem):
		b.bad += problem.Lines
	}
}

func readBaselineLine(object []byte) (line baselineLine, err error) {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.strict = true
	err = r.decode(object, &line)
	r.strict = false
	return line, err
}

// line checks a run, which is the next one then.
func (b *baselineReader) line(l *line[baselineLine]) error {
	b.run = b.head.runOf(&l.is)
	if err := b.check(); err != nil {
		return l.problem(b.file, err)
	}
	return nil
}

var (
	errOrder       = errors.New("it is not behind the line before it in the order of a baseline, or is there twice")
	errIncomplete  = errors.New("the trial or the status of the run is missing")
	errTwiceScored = errors.New("it has two scores of one name")
)

func (b *baselineReader) twiceScored() bool {
	for i := range b.run.scores {
		for k := range i {
			if b.run.scores[k].Name == b.run.scores[i].Name {
				return true
			}
		}
	}
	return false
}

// check refuses what no writer of this package writes.
func (b *baselineReader) check() error {
	configuration, ok := b.place[b.run.Configuration]
	key := baselineKey{configuration, b.run.Task, b.run.Trial}
	impossible := b.run.amounts()
	switch {
	case !ok:
		return fmt.Errorf("its manifest has no configuration %q", b.run.Configuration)
	case b.run.Trial < 1 || b.run.Outcome.Status == "":
		return errIncomplete
	case impossible != nil:
		return impossible
	case b.twiceScored():
		return errTwiceScored
	case b.run.iterations < 0 || b.run.iterations > mostIterations || b.run.Outcome.Returned < 0 || b.run.Outcome.Returned > b.run.iterations:
		return fmt.Errorf("%d iterations, of which %d is returned", b.run.iterations, b.run.Outcome.Returned)
	case b.run.rated && b.run.Outcome.Returned == 0:
		return errors.New("it has a confidence of no iteration")
	case b.last.compare(key) >= 0:
		return errOrder
	}
	b.last = key
	return nil
}

// mostIterations bounds the memory that a bad number can take.
const mostIterations = 1 << 16

func (k baselineKey) compare(l baselineKey) int {
	return cmp.Or(cmp.Compare(k.configuration, l.configuration), cmp.Compare(k.task, l.task), cmp.Compare(k.trial, l.trial))
}

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
		if err := s.amounts(); err != nil { // no reader would take it
			return fmt.Errorf("run %s: %w", s.ID, err)
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
	object := bytes.NewBufferString(lineHead)
	encoder := json.NewEncoder(object)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&b.head); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(object.Bytes(), []byte{'\n'})
	if b.redact != nil {
		line = slices.Clone(b.redact(line))
	}
	return seal(line, 0)
}

func (b *baseline) line(dst []byte, run *baselineRun) ([]byte, error) {
	line, err := appendObject(dst, b.head.lineOf(run))
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run.ID, err)
	}
	if b.redact != nil && string(b.redact(line)) != string(line) {
		return nil, fmt.Errorf("run %s: %w", run.ID, errSecretName)
	}
	return seal(line, len(dst))
}
