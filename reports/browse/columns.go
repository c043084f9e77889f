package browse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// row is a run in the list of runs.
type row struct {
	id, task              string
	side, configuration   int // of its side's manifest
	name                  string
	trial, iterations     int
	status, stop, fault   string
	cost, tokens, seconds float64 // NaN: unknown
	confidence            float64 // of the iteration that the run returned, NaN: it has none
	believed              bool    // the loop took the run for a success
	scores                []float64
	split                 []int // the scorers whose judges disagree about the run
	chunk                 int32 // that has its texts, -1: none
}

// place names a run.
type place struct {
	side int
	id   string
}

// table is the list of runs of all sides.
type table struct {
	sources *Sources
	scorers []string // in the order declared, then by name
	rows    []row
	at      map[place]int // of rows
}

func newTable(s *Sources) *table {
	t := &table{sources: s, at: map[place]int{}}
	for _, side := range s.Sides {
		for _, name := range side.Manifest.Scorers {
			t.scorer(name)
		}
	}
	return t
}

func (t *table) scorer(name string) int {
	at := slices.Index(t.scorers, name)
	if at < 0 {
		at, t.scorers = len(t.scorers), append(t.scorers, strings.Clone(name))
	}
	return at
}

// read adds the runs of a side and their scores.
func (t *table) read(side int) error {
	from, words := &t.sources.Sides[side], words{}
	order := map[string]int{}
	for i := range from.Manifest.Configurations {
		order[from.Manifest.Configurations[i].Name] = i
	}
	for s, err := range from.Runs() {
		if err != nil {
			return err
		}
		if from.Configuration != "" && s.Configuration != from.Configuration {
			continue
		}
		r := rowOf(s, words)
		at, known := order[r.name]
		if r.side, r.configuration = side, at; !known {
			r.configuration = len(order)
		}
		t.at[place{side, r.id}] = len(t.rows)
		t.rows = append(t.rows, r)
	}
	for s, err := range from.Scores() {
		if err != nil {
			return err
		}
		if at, is := t.at[place{side, s.Run}]; is && s.Iteration == 0 {
			t.score(at, &s)
		}
	}
	return nil
}

// score keeps a score of a run: the last one counts.
func (t *table) score(at int, s *record.Score) {
	n, r := t.scorer(s.Name), &t.rows[at]
	for len(r.scores) <= n {
		r.scores = append(r.scores, math.NaN())
	}
	if r.scores[n] = s.Value; s.Removed || s.Unscored != "" {
		r.scores[n] = math.NaN()
	}
	r.split = slices.DeleteFunc(r.split, func(scorer int) bool { return scorer == n })
	if disagree := t.sources.Disagree; !s.Removed && disagree != nil && disagree(s.Votes) {
		r.split = append(r.split, n)
	}
}

// scored is the score of a run by a scorer, NaN where there is none.
func (r *row) scored(scorer int) float64 {
	if scorer >= len(r.scores) {
		return math.NaN()
	}
	return r.scores[scorer]
}

func rowOf(s *record.Run, words words) row {
	r := row{
		id: strings.Clone(s.ID), name: words.one(s.Configuration), task: words.one(s.Task), trial: s.Trial, iterations: len(s.Iterations),
		status: words.one(string(s.Outcome.Status)), stop: words.one(string(s.Outcome.Reason)), chunk: -1,
		confidence: math.NaN(), believed: s.Outcome.Success,
	}
	if s.Outcome.Error != nil {
		r.fault = words.one(string(s.Outcome.Error.Class))
	}
	if n := s.Outcome.Returned; n > 0 && n <= len(s.Iterations) && s.Iterations[n-1].Evaluation != nil {
		r.confidence = s.Iterations[n-1].Evaluation.Confidence
	}
	used := s.Total()
	r.cost, r.tokens, r.seconds = used.Cost.Dollars(), float64(used.Tokens()), math.Round(s.Elapsed.Seconds()*1000)/1000
	if used.Unpriced > 0 || used.Unreported > 0 {
		r.cost = math.NaN()
	}
	if !used.TokensTold() {
		r.tokens = math.NaN()
	}
	if s.Untimed {
		r.seconds = math.NaN()
	}
	return r
}

// words keeps each text once.
type words map[string]string

func (w words) one(text string) string {
	kept, ok := w[text]
	if !ok {
		kept = strings.Clone(text)
		w[kept] = kept
	}
	return kept
}

// order sorts the runs, so that equal results give equal pages in whatever order the runs
// finished.
func (t *table) order() {
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.side, b.side), cmp.Compare(a.configuration, b.configuration), cmp.Compare(a.task, b.task), cmp.Compare(a.trial, b.trial), cmp.Compare(a.id, b.id))
	})
	for i := range t.rows {
		t.at[place{t.rows[i].side, t.rows[i].id}] = i
	}
	t.orderScorers()
}

// orderScorers puts the scorers that no suite declares behind the others, by name.
func (t *table) orderScorers() {
	declared := 0
	for _, side := range t.sources.Sides {
		for _, name := range side.Manifest.Scorers {
			declared = max(declared, 1+slices.Index(t.scorers, name))
		}
	}
	was := slices.Clone(t.scorers)
	slices.Sort(t.scorers[declared:])
	for i := range t.rows {
		r := &t.rows[i]
		scores := make([]float64, len(was))
		for to, name := range t.scorers {
			scores[to] = r.scored(slices.Index(was, name))
		}
		r.scores = scores
		for j, scorer := range r.split {
			r.split[j] = slices.Index(t.scorers, was[scorer])
		}
	}
}

// head is the chunk with the runs, as docs/report.md describes it.
type head struct {
	Format  string                `json:"format"`
	Suite   string                `json:"suite"`
	Sides   []sideHead            `json:"sides"`
	Runs    int                   `json:"runs"`
	Texts   int                   `json:"texts"` // runs that have theirs in the page
	Run     []string              `json:"run"`
	Words   map[string]dictionary `json:"words"`
	Inputs  []string              `json:"inputs,omitempty"` // of the words of the column task, where the suite has them
	Numbers map[string]numbers    `json:"numbers"`
	Scores  []scoreColumn         `json:"scores"`
	Chunk   []int32               `json:"chunk"`
}

type sideHead struct {
	Name     string `json:"name"`
	Baseline bool   `json:"baseline,omitempty"` // it is a file without texts
}

type scoreColumn struct {
	Name   string  `json:"name"`
	Values numbers `json:"values"`
	Split  []int32 `json:"split,omitempty"` // the runs whose judges disagree
	scale
}

func (t *table) head(texts int) *head {
	h := &head{Format: Format, Suite: t.sources.Suite, Runs: len(t.rows), Texts: texts, Run: make([]string, len(t.rows)), Chunk: make([]int32, len(t.rows)), Sides: []sideHead{}, Scores: []scoreColumn{}}
	for _, side := range t.sources.Sides {
		h.Sides = append(h.Sides, sideHead{side.Name, side.Baseline()})
	}
	for i := range t.rows {
		h.Run[i], h.Chunk[i] = t.rows[i].id, t.rows[i].chunk
	}
	h.Words = map[string]dictionary{
		"configuration": t.dictionary(func(r *row) string { return r.name }), "task": t.dictionary(func(r *row) string { return r.task }),
		"status": t.dictionary(func(r *row) string { return r.status }), "stop": t.dictionary(func(r *row) string { return r.stop }),
		"fault": t.dictionary(func(r *row) string { return r.fault }), "flip": t.dictionary(t.flip),
	}
	h.Numbers = map[string]numbers{
		"trial": t.numbers(func(r *row) float64 { return float64(r.trial) }), "iterations": t.numbers(func(r *row) float64 { return float64(r.iterations) }),
		"cost": t.numbers(func(r *row) float64 { return r.cost }), "tokens": t.numbers(func(r *row) float64 { return r.tokens }),
		"latency": t.numbers(func(r *row) float64 { return r.seconds }), "confidence": t.numbers(func(r *row) float64 { return r.confidence }),
		"believed": t.numbers(func(r *row) float64 { return map[bool]float64{true: 1}[r.believed] }), "side": t.numbers(func(r *row) float64 { return float64(r.side) }),
	}
	declared := declaredBy(t.sources.Sides)
	h.Inputs = declared.inputsOf(h.Words["task"].Of)
	for n, name := range t.scorers {
		values := t.numbers(func(r *row) float64 { return r.scored(n) })
		h.Scores = append(h.Scores, scoreColumn{name, values, t.splitBy(n), declared.scales[name]})
	}
	return h
}

// splitBy are the runs about which the judges of a scorer disagree.
func (t *table) splitBy(scorer int) (runs []int32) {
	for i := range t.rows {
		if slices.Contains(t.rows[i].split, scorer) {
			runs = append(runs, int32(i))
		}
	}
	return runs
}

// flip is how the success of the run's task changed.
func (t *table) flip(r *row) string {
	if r.side < len(t.sources.Sides)-1 {
		return ""
	}
	return t.sources.Flips[r.id]
}

// dictionary is a column of words, each of which is written once.
type dictionary struct {
	Of []string `json:"of"`
	At []int32  `json:"at"`
}

func (t *table) dictionary(of func(*row) string) dictionary {
	known := map[string]int32{}
	for i := range t.rows {
		known[of(&t.rows[i])] = 0
	}
	d := dictionary{Of: slices.AppendSeq([]string{}, maps.Keys(known)), At: make([]int32, len(t.rows))}
	slices.Sort(d.Of)
	for i, word := range d.Of {
		known[word] = int32(i)
	}
	for i := range t.rows {
		d.At[i] = known[of(&t.rows[i])]
	}
	return d
}

// numbers is a column of numbers; NaN is null.
type numbers []float64

func (t *table) numbers(of func(*row) float64) numbers {
	column := make(numbers, len(t.rows))
	for i := range t.rows {
		column[i] = of(&t.rows[i])
	}
	return column
}

// MarshalJSON implements [json.Marshaler].
func (n numbers) MarshalJSON() ([]byte, error) {
	text := bytes.NewBuffer(make([]byte, 0, 8*len(n)+2))
	text.WriteByte('[')
	for i, value := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			text.WriteString("null")
		} else {
			text.Write(strconv.AppendFloat(text.AvailableBuffer(), value, 'f', -1, 64))
		}
	}
	text.WriteByte(']')
	return text.Bytes(), nil
}

var _ json.Marshaler = numbers{}
