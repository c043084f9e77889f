package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// A baseline is a result folder without its texts, in one file that is small enough
// for git. Its first line is a head with the manifest. A line for each run follows, by
// configuration, task and trial: its record with the numbers alone, and its scores.
//
//	{"crc":"…","v":1,"schema":"agentbench/baseline/1","runs":2,"manifest":{…}}
//	{"crc":"…","v":1,"run":"default/backend-1/1", …,"scores":[{"name":"close","value":1}]}
//
// The same results give the same bytes.

// BaselineSchema names the form of a baseline.
const BaselineSchema = baselineSchemas + "1"

const baselineSchemas = "agentbench/baseline/"

// baselineHead is the first line.
type baselineHead struct {
	Version  int      `json:"v"`
	Schema   string   `json:"schema"`
	Runs     int      `json:"runs"` // how many lines follow
	Manifest Manifest `json:"manifest"`
	// Files are those that make the suites of the manifest.
	Files map[string]string `json:"files,omitempty"`
}

// baselineLine is the line of a run.
type baselineLine struct {
	Run
	Scores []Score `json:"scores,omitempty"`
}

// withoutCourse is the record that a baseline holds of a light run: of an iteration, whether it failed, and its confidence.
func (r *Run) withoutCourse() Run {
	brief := *r
	brief.Version, brief.Seed, brief.Next, brief.Volatile, brief.Iterations = Version, "", nil, Volatile{}, make([]Iteration, len(r.Iterations))
	for i := range r.Iterations {
		it := &r.Iterations[i]
		brief.Iterations[i] = Iteration{N: it.N, Error: it.Error.withoutMessage()}
		if e := it.Evaluation; e != nil {
			brief.Iterations[i].Evaluation = &Evaluation{Confidence: e.Confidence, Passed: e.Passed}
		}
	}
	return brief
}

// unscoredInBaseline is the reason of an unscored run: the recorded one may quote
// what a model said.
const unscoredInBaseline = "unscored in the baseline, which has no reasons"

// withoutText is the score that a baseline holds.
func (s *Score) withoutText() Score {
	kept := Score{Name: s.Name, Value: s.Value, Scorer: s.Scorer, Removed: s.Removed}
	if s.Unscored != "" {
		kept.Value, kept.Unscored = 0, unscoredInBaseline
	}
	return kept
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
	l := line[baselineHead]{Place: Place{line: 1, bytes: int64(len(text))}, text: text}
	l.parse(reading[baselineHead])
	if l.damage == errTorn || l.damage == errNoChecksum || l.damage == errChecksum {
		return nil, &NoBaseline{File: path, What: "line 1: " + l.damage.Error(), Ours: l.damage == errChecksum}
	}
	head := &l.is
	if err = cmp.Or(l.damage, head.check()); err != nil {
		return nil, &NoBaseline{File: path, What: err.Error(), Ours: strings.HasPrefix(head.Schema, baselineSchemas)}
	}
	head.Manifest.Brief = true
	return &Results{Path: path, Manifest: head.Manifest, baseline: head}, nil
}

func (h *baselineHead) check() error {
	switch {
	case h.Schema == "":
		return errors.New("line 1 is not the head of one")
	case h.Schema != BaselineSchema:
		return fmt.Errorf("it has the schema %q, not %s", h.Schema, BaselineSchema)
	}
	return cmp.Or(knownVersion(h.Version), h.Manifest.countable())
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

// baselineLines are the lines after the head. The last error is that their number differs
// from that in the head.
func baselineLines[T any](r *Results, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	return func(yield func(*line[T], error) bool) {
		f, err := openFile(r.Path)
		if err != nil {
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		defer f.Close()
		in := bufio.NewReader(unixLines{f})
		if _, err := in.ReadBytes('\n'); err != nil && err != io.EOF { // the head was read before
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		runs := 0
		for l, err := range goodLines(r.Path, in, 2, read) {
			if !yield(l, err) || err != nil {
				return
			}
			runs++
		}
		if runs != r.baseline.Runs {
			yield(nil, &Damage{r.Path, runs + 2, fmt.Sprintf("it has %d runs, and its head says %d", runs, r.baseline.Runs)})
		}
	}
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

// WriteBaseline writes results as a baseline. The error may be a *[Damage] of the results, or ErrNoneCounts.
func WriteBaseline(to io.Writer, from *Results, options BaselineOptions) error {
	m := from.Manifest
	m.Volatile, m.Brief = ManifestVolatile{}, true
	if len(options.Configurations) > 0 {
		m.Configurations = slices.DeleteFunc(slices.Clone(m.Configurations), func(c ConfigurationHead) bool {
			return !slices.ContainsFunc(options.Configurations, c.Called)
		})
	}
	if !slices.ContainsFunc(m.Configurations, func(c ConfigurationHead) bool { return c.Name == m.Baseline }) {
		m.Baseline = ""
	}
	if options.Redact == nil {
		options.Redact = func(text []byte) []byte { return text }
	}
	m.Totals = Totals{Planned: m.Tasks * m.Trials * len(m.Configurations)}
	runs, err := baselineRuns(from, &m, options.Redact)
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	if m.Totals.Completed+m.Totals.Failed == 0 {
		return ErrNoneCounts
	}
	files, err := m.specTexts(from, options.Redact)
	if err != nil {
		return err
	}
	head, err := appendObject(nil, &baselineHead{Version, BaselineSchema, len(runs), m, files})
	if err == nil {
		head, err = seal(slices.Clone(options.Redact(head)), 0)
	}
	out := bufio.NewWriterSize(to, 1<<16)
	out.Write(head)
	for i := range runs {
		out.Write(runs[i].line)
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return nil
}

// specTexts are the files of the suites of a manifest, without secrets. The data is left out.
func (m *Manifest) specTexts(from *Results, redact func([]byte) []byte) (map[string]string, error) {
	m.Specs = slices.Clone(m.Specs)
	files := map[string]string{}
	for i := range m.Specs {
		s, hashes := &m.Specs[i], map[string]string{}
		for name, hash := range s.Files {
			text, err := fs.ReadFile(from.Files(), path.Join(s.Dir, name))
			if err != nil {
				return nil, fmt.Errorf("reading the copy of the suite: %w", err)
			}
			if clean := redact(text); !bytes.Equal(clean, text) {
				text, hash = clean, FileHash(clean)
			}
			files[path.Join(s.Dir, name)], hashes[name] = string(text), hash
		}
		s.Data, s.Files = nil, hashes
	}
	return files, nil
}

// baselineRun is the line of a run, and what it is sorted by.
type baselineRun struct {
	configuration int
	task          string
	trial         int
	line          []byte
}

// baselineRuns makes the lines of the runs of the manifest's configurations, in their order, and adds them to its totals.
func baselineRuns(from *Results, m *Manifest, redact func([]byte) []byte) (runs []baselineRun, err error) {
	places := map[string]int{}
	for i := range m.Configurations {
		places[m.Configurations[i].Name] = i
	}
	scores := map[string][]Score{}
	for s, err := range from.Scores() {
		if err != nil {
			return nil, err
		}
		if s.Iteration == 0 {
			scores[s.Run] = append(scores[s.Run], s.withoutText())
		}
	}
	for r, err := range from.Runs() {
		if err != nil {
			return nil, err
		}
		at, named := places[r.Configuration]
		if !named {
			continue
		}
		standing := Standing(scores[r.ID])
		slices.SortFunc(standing, func(a, b Score) int { return cmp.Compare(a.Name, b.Name) })
		line, err := appendLine(nil, &baselineLine{r.withoutCourse(), standing})
		if err == nil && !bytes.Equal(redact(line), line) {
			err = errSecretName
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		runs = append(runs, baselineRun{at, r.Task, r.Trial, line})
		m.Totals.Add(r.Outcome.Status, r.Usage, r.Judging, r.User)
	}
	slices.SortFunc(runs, func(a, b baselineRun) int {
		return cmp.Or(cmp.Compare(a.configuration, b.configuration), cmp.Compare(a.task, b.task), cmp.Compare(a.trial, b.trial))
	})
	return runs, nil
}
