package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A baseline is a result folder without its trajectories, in one file that is
// small enough for git. It holds JSON lines with checksums: first a head with
// the manifest, then one line a run, sorted by configuration, task and trial:
//
//	{"crc":"…","v":1,"schema":"agentbench/baseline/1","runs":2,"scorers":{"close":"…"},"manifest":{…}}
//	{"crc":"…","configuration":"default","task":"backend-1","trial":1,"status":"completed", …,"scores":{"close":1}}
//
// The same results give the same bytes. It has no text of an output.

// BaselineSchema names the form of a baseline.
const BaselineSchema = baselineSchemas + "1"

const baselineSchemas = "agentbench/baseline/"

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

// baselineLine is the line of a run. What the head tells of all runs holds for one
// that says nothing else.
type baselineLine struct {
	Configuration string        `json:"configuration"`
	Task          string        `json:"task"`
	Trial         int           `json:"trial"`
	Cluster       string        `json:"cluster,omitempty"`
	Group         string        `json:"group,omitempty"`
	Loop          *string       `json:"loop,omitempty"`
	Status        Status        `json:"status"`
	Reason        Reason        `json:"reason,omitempty"`
	Class         Class         `json:"class,omitempty"`
	Fired         string        `json:"fired,omitempty"`
	Error         *ErrorClass   `json:"error,omitempty"`
	Success       bool          `json:"success,omitempty"`
	Iterations    int           `json:"iterations"`
	Returned      int           `json:"returned,omitempty"`
	Failed        ErrorClass    `json:"failed,omitempty"`
	Evaluated     bool          `json:"evaluated,omitempty"`
	Confidence    *float64      `json:"confidence,omitempty"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Untimed       bool          `json:"untimed,omitempty"`
	Usage         Usage         `json:"usage"`
	Judging       Usage         `json:"judging,omitzero"`
	User          Usage         `json:"user,omitzero"`
	Simulated     bool          `json:"simulated,omitempty"`
	// Scores are the values by the scorers' names; null is unscored.
	Scores map[string]*float64 `json:"scores,omitempty"`
	// Scorers are the hashes of those that are not the head's.
	Scorers map[string]string `json:"scorers,omitempty"`
}

// lineOf keeps of a run what a baseline holds.
func lineOf(s *Signals) baselineLine {
	o := &s.Outcome
	l := baselineLine{
		Configuration: s.Configuration, Task: s.Task, Trial: s.Trial, Cluster: s.Cluster, Group: s.Group,
		Status: o.Status, Reason: o.Reason, Class: o.Class, Fired: o.Fired, Success: o.Success, Iterations: len(s.Iterations), Returned: o.Returned,
		Elapsed: s.Elapsed, Untimed: s.Untimed, Usage: s.Usage, Judging: s.Judging, User: s.User, Simulated: s.Simulated,
	}
	loop := s.Loop // not to hold the signals
	if l.Loop = &loop; o.Error != nil {
		l.Error = &o.Error.Class
	}
	failed := 0
	for i := range s.Iterations {
		it := &s.Iterations[i]
		l.Evaluated = l.Evaluated || it.Evaluated
		if it.Error != "" {
			failed++
			l.Failed = it.Error
		}
	}
	if failed < l.Iterations {
		l.Failed = ""
	}
	if n := o.Returned; n > 0 && n <= l.Iterations && s.Iterations[n-1].Evaluated {
		l.Confidence = new(s.Iterations[n-1].Confidence)
	}
	return l
}

// signals is the run of a line as a result folder would have it, as far as it is known.
func (h *baselineHead) signals(l *baselineLine) *Signals {
	s := &Signals{
		Version: Version, ID: RunID(l.Configuration, l.Task, l.Trial), Configuration: l.Configuration, Task: l.Task, Trial: l.Trial,
		Cluster: l.Cluster, Group: l.Group, Loop: h.loop(l.Configuration),
		Outcome: Outcome{Status: l.Status, Reason: l.Reason, Class: l.Class, Fired: l.Fired, Success: l.Success, Returned: l.Returned},
		Elapsed: l.Elapsed, Untimed: l.Untimed, Usage: l.Usage, Judging: l.Judging, User: l.User, Simulated: l.Simulated,
		Iterations: make([]IterationSignals, l.Iterations),
	}
	if l.Loop != nil {
		s.Loop = *l.Loop
	}
	if l.Error != nil {
		s.Outcome.Error = &Error{Class: *l.Error}
	}
	for i := range s.Iterations {
		s.Iterations[i] = IterationSignals{N: i + 1, Error: l.Failed, Evaluated: l.Evaluated && l.Confidence == nil}
	}
	if n := l.Returned; n > 0 {
		returned := &s.Iterations[n-1]
		if returned.Evaluated = l.Confidence != nil; returned.Evaluated {
			returned.Confidence = *l.Confidence
		}
	}
	return s
}

// readBaselineHead reads the object of the first line. ours means that it is that
// of a baseline, of whatever version.
func readBaselineHead(object []byte) (head *baselineHead, ours bool, err error) {
	var form struct {
		Version int    `json:"v"`
		Schema  string `json:"schema"`
	}
	if err := decode(object, &form); err != nil {
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
	if err := decode(object, head); err != nil {
		return nil, ours, err
	}
	head.Manifest.Brief = true
	return head, ours, head.Manifest.countable()
}

func knownBaseline(schema string) error {
	number, ours := strings.CutPrefix(schema, baselineSchemas)
	switch _, err := strconv.Atoi(number); {
	case schema == "":
		return errors.New("line 1 is not the head of one")
	case schema == BaselineSchema:
		return nil
	case !ours || err != nil:
		return fmt.Errorf("it has the schema %q, not %s", schema, BaselineSchema)
	default:
		return fmt.Errorf("another agentbench wrote it (%s, this one knows %s)", schema, BaselineSchema)
	}
}

// unscoredInBaseline is the reason of an unscored run: the recorded one may quote
// what a model said.
const unscoredInBaseline = "unscored in the baseline, which has no reasons"

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
		for l, err := range r.baselineLines() {
			var s *Signals
			if err == nil {
				s = r.baseline.signals(l)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// baselineScores yields only the errors that the signals did not.
func (r *Results) baselineScores() iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		for l, err := range r.baselineLines() {
			if Unreadable(err) && !yield(Score{}, err) {
				return
			}
			if err != nil {
				continue
			}
			id := RunID(l.Configuration, l.Task, l.Trial)
			for _, name := range slices.Sorted(maps.Keys(l.Scores)) {
				s := Score{Run: id, Name: name, Scorer: cmp.Or(l.Scorers[name], r.baseline.Scorers[name])}
				if value := l.Scores[name]; value != nil {
					s.Value = *value
				} else {
					s.Unscored = unscoredInBaseline
				}
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// baselineLines are the lines behind the head, each valid until the next one.
// Bad lines are *Problems, and the lines behind them are read; any other error is the last
// element.
func (r *Results) baselineLines() iter.Seq2[*baselineLine, error] {
	return func(yield func(*baselineLine, error) bool) {
		f, err := openFile(r.Path)
		if err != nil {
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		defer f.Close()
		in := bufio.NewReader(unixLines{f})
		first, err := in.ReadBytes('\n') // it was read before
		if err != nil {
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		file, end, order := filepath.Base(r.Path), place{1, int64(len(first))}, orderOf(&r.Manifest)
		found, bad := 0, 0
		var last baselineLine
		for l, err := range walk(file, in, end, readBaselineLine) {
			if err == nil {
				end = l.end()
				if wrong := order.check(&last, &l.is); wrong != nil {
					err = l.problem(file, wrong)
				}
			}
			var line *baselineLine
			if problem, is := errors.AsType[*Problem](err); is {
				bad += problem.Lines
			} else if err == nil {
				found++
				line, last = &l.is, l.is
			}
			if !yield(line, err) {
				return
			}
		}
		if missing := r.baseline.Runs - found; missing > 0 && bad == 0 {
			yield(nil, &Problem{File: file, Line: end.line + 1, Lines: missing, Offset: end.offset, Torn: true,
				What: fmt.Sprintf("it breaks off: %d of %d runs are there", found, r.baseline.Runs)})
		} else if missing < 0 {
			yield(nil, fmt.Errorf("%s holds %d runs, and its head says %d: it was made of several files", file, found, r.baseline.Runs))
		}
	}
}

func readBaselineLine(object []byte) (line baselineLine, err error) {
	err = decode(object, &line, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	return line, err
}

// baselineOrder is the order of lines: by the places of their configurations, by task, by trial.
type baselineOrder map[string]int

func orderOf(m *Manifest) baselineOrder {
	order := baselineOrder{}
	for i := range m.Configurations {
		order[m.Configurations[i].Name] = i
	}
	return order
}

func (o baselineOrder) compare(x, y *baselineLine) int {
	return cmp.Or(cmp.Compare(o[x.Configuration], o[y.Configuration]), cmp.Compare(x.Task, y.Task), cmp.Compare(x.Trial, y.Trial))
}

// mostIterations bounds the memory that a bad number can take.
const mostIterations = 1 << 16

// check refuses what no writer of this package writes.
func (o baselineOrder) check(last, l *baselineLine) error {
	_, ok := o[l.Configuration]
	impossible := cmp.Or(validTrial(l.Trial), negative(l.Elapsed, l.Usage, l.Judging, l.User))
	switch {
	case !ok:
		return fmt.Errorf("its manifest has no configuration %q", l.Configuration)
	case l.Trial < 1 || l.Status == "":
		return errors.New("the trial or the status of the run is missing")
	case impossible != nil:
		return impossible
	case l.Iterations < 0 || l.Iterations > mostIterations || l.Returned < 0 || l.Returned > l.Iterations:
		return fmt.Errorf("%d iterations, of which %d is returned", l.Iterations, l.Returned)
	case l.Confidence != nil && l.Returned == 0:
		return errors.New("it has a confidence of no iteration")
	case last.Status != "" && o.compare(last, l) >= 0:
		return errors.New("it is not behind the line before it in the order of a baseline, or is there twice")
	}
	return nil
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
	order  baselineOrder
	runs   []baselineLine
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
	order := orderOf(&m)
	if _, ok := order[m.Baseline]; !ok {
		m.Baseline = ""
	}
	return &baseline{head: baselineHead{Version: Version, Schema: BaselineSchema, Scorers: map[string]string{}, Manifest: m}, order: order, at: map[string]int{}, redact: options.Redact}
}

func (b *baseline) read(from *Results) error {
	for s, err := range from.Signals() {
		if err != nil {
			return err
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
	if _, ok := b.order[s.Configuration]; !ok {
		return
	}
	at, ok := b.at[s.ID]
	if !ok {
		at, b.runs = len(b.runs), append(b.runs, baselineLine{})
		b.at[s.ID] = at
	}
	b.runs[at] = lineOf(s)
}

// score keeps the score of a run; of several by one scorer the last one, unless
// it was taken back.
func (b *baseline) score(s Score) {
	at, ok := b.at[s.Run]
	if !ok || s.Iteration != 0 {
		return
	}
	run := &b.runs[at]
	if s.Removed {
		delete(run.Scores, s.Name)
		delete(run.Scorers, s.Name)
		return
	}
	if run.Scores == nil {
		run.Scores, run.Scorers = map[string]*float64{}, map[string]string{}
	}
	run.Scores[s.Name], run.Scorers[s.Name] = nil, s.Scorer
	if s.Unscored == "" {
		run.Scores[s.Name] = new(s.Value)
	}
}

// sort puts everything in the one order that a baseline has, and says in the head what
// is the same for most runs.
func (b *baseline) sort() {
	slices.SortFunc(b.runs, func(x, y baselineLine) int { return b.order.compare(&x, &y) })
	m := &b.head.Manifest
	b.head.Runs, m.Totals = len(b.runs), b.totals()
	for i := range b.runs {
		for name, hash := range b.runs[i].Scorers {
			if b.head.Scorers[name] == "" && hash != "" {
				b.head.Scorers[name] = hash
			}
		}
	}
	for i := range b.runs {
		run := &b.runs[i]
		if run.Loop != nil && *run.Loop == b.head.loop(run.Configuration) {
			run.Loop = nil
		}
		maps.DeleteFunc(run.Scorers, func(name, hash string) bool { return b.head.Scorers[name] == hash })
	}
}

// totals are those of the configurations that are kept.
func (b *baseline) totals() Totals {
	m := &b.head.Manifest
	t := Totals{Planned: m.Tasks * m.Trials * len(m.Configurations)}
	for i := range b.runs {
		r := &b.runs[i]
		t.Add(r.Status, r.Usage, r.Judging, r.User)
	}
	return t
}

func (b *baseline) write(to io.Writer) error {
	b.sort()
	out := bufio.NewWriterSize(to, 1<<16)
	line, err := b.headLine()
	for i := 0; ; i++ {
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			return err
		}
		if i == len(b.runs) {
			return out.Flush()
		}
		line, err = b.line(line[:0], &b.runs[i])
	}
}

func (b *baseline) headLine() ([]byte, error) {
	line, err := appendObject(nil, &b.head)
	if err == nil && b.redact != nil {
		line = slices.Clone(b.redact(line))
	}
	if err != nil {
		return nil, err
	}
	return seal(line, 0)
}

func (b *baseline) line(dst []byte, run *baselineLine) ([]byte, error) {
	line, err := appendObject(dst, run)
	if err == nil && b.redact != nil && string(b.redact(line)) != string(line) {
		err = errSecretName
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", RunID(run.Configuration, run.Task, run.Trial), err)
	}
	return seal(line, len(dst))
}
