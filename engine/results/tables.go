package results

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Rows of the tables that other programs read. A column that may be unknown is a pointer: null in JSON Lines, an
// empty cell in CSV. docs/export.md explains the columns.

// runRow is a line of the table runs.
type runRow struct {
	Run           string  `json:"run"`
	Configuration string  `json:"configuration"`
	Task          string  `json:"task"`
	Trial         int64   `json:"trial"`
	Cluster       *string `json:"cluster"`
	Group         *string `json:"group"`
	Status        string  `json:"status"`
	Reason        string  `json:"reason"`
	Class         string  `json:"class"`
	Success       bool    `json:"success"`
	Returned      *int64  `json:"returned"`
	Iterations    int64   `json:"iterations"`
	usageCells
	JudgingUSD *float64   `json:"judging_cost_usd"`
	ElapsedS   *float64   `json:"elapsed_s"`
	WaitedS    float64    `json:"waited_s"`
	Started    *time.Time `json:"started"`
	Simulated  bool       `json:"simulated"`
	ErrorClass *string    `json:"error_class"`
	Error      *string    `json:"error"`
}

// iterationRow is a line of the table iterations.
type iterationRow struct {
	Run        string   `json:"run"`
	Iteration  int64    `json:"iteration"`
	Phase      *string  `json:"phase"`
	Strategy   *string  `json:"strategy"`
	Confidence *float64 `json:"confidence"`
	Passed     *bool    `json:"passed"`
	Steps      int64    `json:"steps"`
	usageCells
	StartS     *float64 `json:"start_s"`
	EndS       *float64 `json:"end_s"`
	Cut        *string  `json:"cut"`
	ErrorClass *string  `json:"error_class"`
	Output     *string  `json:"output"`
}

// scoreRow is a line of the table scores.
type scoreRow struct {
	Run         string   `json:"run"`
	Iteration   *int64   `json:"iteration"`
	Scorer      string   `json:"scorer"`
	Version     string   `json:"version"`
	Value       *float64 `json:"value"`
	Unscored    *string  `json:"unscored"`
	Answer      *string  `json:"answer"`
	Explanation *string  `json:"explanation"`
	Votes       int64    `json:"votes"`
	CostUSD     *float64 `json:"cost_usd"`
}

// stepRow is a line of the table steps.
type stepRow struct {
	Run         string   `json:"run"`
	Iteration   int64    `json:"iteration"`
	Step        int64    `json:"step"`
	State       string   `json:"state"`
	Scorer      string   `json:"scorer"`
	Version     string   `json:"version"`
	Value       *float64 `json:"value"`
	Unscored    *string  `json:"unscored"`
	Answer      *string  `json:"answer"`
	Explanation *string  `json:"explanation"`
}

// usageCells are the columns of a usage; calls and tokens are null where they are unknown.
type usageCells struct {
	Calls              *int64   `json:"calls"`
	ToolCalls          int64    `json:"tool_calls"`
	InputTokens        *int64   `json:"input_tokens"`
	CachedTokens       *int64   `json:"cached_tokens"`
	CacheWriteTokens   *int64   `json:"cache_write_tokens"`
	CacheWrite1hTokens *int64   `json:"cache_write_1h_tokens"`
	OutputTokens       *int64   `json:"output_tokens"`
	ReasoningTokens    *int64   `json:"reasoning_tokens"`
	CostUSD            *float64 `json:"cost_usd"`
}

func cellsOf(u record.Usage) usageCells {
	c := usageCells{ToolCalls: u.ToolCalls, CostUSD: costOf(u)}
	if u.Unreported == 0 {
		c.Calls = &u.Calls
	}
	if u.TokensTold() {
		c.InputTokens, c.CachedTokens, c.CacheWriteTokens, c.CacheWrite1hTokens = &u.InputTokens, &u.CachedTokens, &u.CacheWriteTokens, &u.CacheWrite1hTokens
		c.OutputTokens, c.ReasoningTokens = &u.OutputTokens, &u.ReasoningTokens
	}
	return c
}

func costOf(u record.Usage) *float64 {
	if !u.Priced() {
		return nil
	}
	return new(u.Cost.Dollars())
}

// some is nil for what is not there.
func some[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}

func rowOfRun(r *record.Run) runRow {
	o := &r.Outcome
	made := runRow{
		Run: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: int64(r.Trial), Cluster: some(r.Cluster), Group: some(r.Group),
		Status: string(o.Status), Reason: string(o.Reason), Class: string(o.Class), Success: o.Success, Returned: some(int64(o.Returned)),
		Iterations: int64(len(r.Iterations)), usageCells: cellsOf(r.Total()), JudgingUSD: costOf(r.Judging),
		WaitedS: r.Volatile.Waited.Seconds(), Simulated: r.Simulated,
	}
	if !r.Untimed {
		made.ElapsedS = new(r.Elapsed.Seconds())
	}
	if !r.Volatile.Started.IsZero() {
		made.Started = new(r.Volatile.Started.UTC())
	}
	if o.Error != nil {
		made.ErrorClass, made.Error = some(string(o.Error.Class)), some(o.Error.Message)
	}
	return made
}

func rowOfIteration(r *record.Run, it *record.Iteration) iterationRow {
	made := iterationRow{
		Run: r.ID, Iteration: int64(it.N), Phase: some(it.Phase), Strategy: some(it.Strategy), Steps: int64(it.StepCount()),
		usageCells: cellsOf(it.Total()), Cut: some(it.Cut), Output: some(plainText(it.Output)), Confidence: it.Confidence,
	}
	if it.Evaluated() {
		made.Confidence, made.Passed = &it.Evaluation.Confidence, &it.Evaluation.Passed
	}
	if !it.Untimed {
		start, end := it.Start.Seconds(), it.End.Seconds()
		made.StartS, made.EndS = &start, &end
	}
	if it.Error != nil {
		made.ErrorClass = some(string(it.Error.Class))
	}
	return made
}

// plainText is a JSON string's text, and any other JSON as it is.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func rowOfScore(s *record.Score) scoreRow {
	made := scoreRow{
		Run: s.Run, Iteration: some(int64(s.Iteration)), Scorer: s.Name, Version: s.Scorer, Unscored: some(s.Unscored),
		Answer: some(s.Answer), Explanation: some(s.Explanation), Votes: int64(len(s.Votes)), CostUSD: costOf(s.Usage),
	}
	if s.Unscored == "" {
		made.Value = &s.Value
	}
	return made
}

func rowOfStep(s *record.Snapshot, step int, score *record.Score) stepRow {
	made := stepRow{
		Run: s.Run, Iteration: int64(s.Iteration), Step: int64(step), State: s.Key, Scorer: score.Name, Version: score.Scorer,
		Unscored: some(score.Unscored), Answer: some(score.Answer), Explanation: some(score.Explanation),
	}
	if score.Unscored == "" {
		made.Value = &score.Value
	}
	return made
}

// TableFormats are the endings of the files that [WriteTables] writes.
var TableFormats = []string{"csv", "jsonl"}

// Written is how many lines each table has.
type Written struct{ Runs, Iterations, Scores, Steps int }

// WriteTables writes the runs, iterations, scores and scores at steps of a result folder as four files of a format into another folder, which it
// makes. Memory does not grow with the number of runs, but by
// 16 bytes for each score, or state that has some.
func WriteTables(dir, out, format string, cell func(text string) string) (n Written, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return n, err
	}
	runs, iterations := newTable[runRow](out, "runs", format, cell), newTable[iterationRow](out, "iterations", format, cell)
	scores, steps := newTable[scoreRow](out, "scores", format, cell), newTable[stepRow](out, "steps", format, cell)
	defer func() { err = errors.Join(err, steps.close(), scores.close(), iterations.close(), runs.close()) }()
	if err := cmp.Or(runs.err, iterations.err, scores.err, steps.err); err != nil {
		return n, err
	}
	for r, err := range record.ReadRuns(dir) {
		if err != nil {
			return n, err
		}
		if err := runs.write(rowOfRun(r)); err != nil {
			return n, err
		}
		for i := range r.Iterations {
			if err := iterations.write(rowOfIteration(r, &r.Iterations[i])); err != nil {
				return n, err
			}
		}
		n.Runs, n.Iterations = n.Runs+1, n.Iterations+len(r.Iterations)
	}
	if n.Scores, err = writeScores(dir, scores); err != nil {
		return n, err
	}
	n.Steps, err = writeSteps(dir, steps)
	return n, err
}

// writeSteps writes the scores of states that count, for each step that found the state.
func writeSteps(dir string, to *table[stepRow]) (n int, err error) {
	key := func(s *record.Snapshot) string { return s.Run + "\x00" + s.Key + "\x00" + strconv.Itoa(s.Iteration) }
	for s, err := range lastOf(record.ReadSnapshots(dir), record.ReadSnapshots(dir), key) {
		if err != nil {
			return n, err
		}
		for _, step := range s.Steps {
			for _, name := range s.Scorers() {
				if err := to.write(rowOfStep(&s, step, s.Score(name))); err != nil {
					return n, err
				}
				n++
			}
		}
	}
	return n, nil
}

// writeScores writes the scores that count: of one run, iteration and scorer the last one, unless that was removed.
func writeScores(dir string, to *table[scoreRow]) (n int, err error) {
	key := func(s *record.Score) string { return s.Run + "\x00" + s.Name + "\x00" + strconv.Itoa(s.Iteration) }
	for s, err := range lastOf(record.ReadScores(dir), record.ReadScores(dir), key) {
		if err != nil {
			return n, err
		}
		if s.Removed {
			continue
		}
		if err := to.write(rowOfScore(&s)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// lastOf reads lines twice, and gives of those with the same key the last one.
func lastOf[T any](lines, again iter.Seq2[T, error], key func(*T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seed := maphash.MakeSeed()
		sum := func(line *T) uint64 { return maphash.String(seed, key(line)) } // a file may have millions
		last, at := map[uint64]int32{}, int32(0)
		for line, err := range lines {
			if err != nil {
				yield(line, err)
				return
			}
			last[sum(&line)] = at
			at++
		}
		at = 0
		for line, err := range again {
			if (err != nil || last[sum(&line)] == at) && !yield(line, err) {
				return
			}
			at++
		}
	}
}

// table writes rows into a file, in the format that its name ends in.
type table[T any] struct {
	file  *os.File
	out   *bufio.Writer
	csv   *csv.Writer   // or
	lines *json.Encoder // JSON Lines
	cells []string      // of the row that is written
	cell  func(text string) string
	err   error // why the file could not be begun
}

// newTable begins a file; err of the table says what went wrong.
func newTable[T any](dir, name, format string, cell func(text string) string) *table[T] {
	t := &table[T]{cell: cell}
	if t.file, t.err = os.Create(filepath.Join(dir, name+"."+format)); t.err != nil {
		return t
	}
	t.out = bufio.NewWriter(t.file)
	if format == "jsonl" {
		t.lines = json.NewEncoder(t.out)
		t.lines.SetEscapeHTML(false)
		return t
	}
	t.csv = csv.NewWriter(t.out)
	t.err = t.csv.Write(columnsOf(reflect.TypeFor[T]()))
	return t
}

func (t *table[T]) write(row T) error {
	if t.lines != nil {
		return t.lines.Encode(&row)
	}
	t.cells = t.appendCells(t.cells[:0], reflect.ValueOf(&row).Elem())
	return t.csv.Write(t.cells)
}

// close ends the file.
func (t *table[T]) close() error {
	if t.out == nil { // it was not begun
		return nil
	}
	if t.csv != nil {
		t.csv.Flush()
	}
	return errors.Join(t.out.Flush(), t.file.Close())
}

// columnsOf are the names of a row's columns, in their order.
func columnsOf(row reflect.Type) (names []string) {
	for i := range row.NumField() {
		field := row.Field(i)
		if field.Type.Kind() == reflect.Struct {
			names = append(names, columnsOf(field.Type)...)
			continue
		}
		names = append(names, field.Tag.Get("json"))
	}
	return names
}

// appendCells writes a row as CSV has it: nothing for null, true and false, numbers in their shortest exact form.
func (t *table[T]) appendCells(cells []string, row reflect.Value) []string {
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Kind() == reflect.Struct:
			cells = t.appendCells(cells, field)
			continue
		case field.Kind() == reflect.Pointer && field.IsNil():
			cells = append(cells, "")
			continue
		case field.Kind() == reflect.Pointer:
			field = field.Elem()
		}
		switch value := field.Interface().(type) {
		case string:
			cells = append(cells, t.cell(value))
		case bool:
			cells = append(cells, strconv.FormatBool(value))
		case int64:
			cells = append(cells, strconv.FormatInt(value, 10))
		case float64:
			cells = append(cells, strconv.FormatFloat(value, 'g', -1, 64))
		case time.Time:
			cells = append(cells, value.Format(time.RFC3339Nano))
		default:
			panic(fmt.Sprintf("a column of type %T", value))
		}
	}
	return cells
}
