package results

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/agentbench/agentbench/engine/record"
)

// A result folder as three tables for other programs. A column that may be unknown is a pointer: null in Parquet, an
// empty cell in CSV. Units stand in the names of columns; docs/export.md has the rest.

// RunRow is a line of the table runs.
type RunRow struct {
	Run           string  `parquet:"run"`
	Configuration string  `parquet:"configuration"`
	Task          string  `parquet:"task"`
	Trial         int64   `parquet:"trial"`
	Cluster       *string `parquet:"cluster,optional"`
	Group         *string `parquet:"group,optional"`
	Status        string  `parquet:"status"`
	Reason        string  `parquet:"reason"`
	Class         string  `parquet:"class"`
	Success       bool    `parquet:"success"`
	Returned      *int64  `parquet:"returned,optional"`
	Iterations    int64   `parquet:"iterations"`
	UsageCells
	JudgingUSD *float64   `parquet:"judging_cost_usd,optional"`
	ElapsedS   *float64   `parquet:"elapsed_s,optional"`
	WaitedS    float64    `parquet:"waited_s"`
	Started    *time.Time `parquet:"started,optional,timestamp(microsecond)"`
	Simulated  bool       `parquet:"simulated"`
	ErrorClass *string    `parquet:"error_class,optional"`
	Error      *string    `parquet:"error,optional"`
}

// IterationRow is a line of the table iterations.
type IterationRow struct {
	Run        string   `parquet:"run"`
	Iteration  int64    `parquet:"iteration"`
	Phase      *string  `parquet:"phase,optional"`
	Strategy   *string  `parquet:"strategy,optional"`
	Confidence *float64 `parquet:"confidence,optional"`
	Passed     *bool    `parquet:"passed,optional"`
	Steps      int64    `parquet:"steps"`
	UsageCells
	StartS     *float64 `parquet:"start_s,optional"`
	EndS       *float64 `parquet:"end_s,optional"`
	Cut        *string  `parquet:"cut,optional"`
	ErrorClass *string  `parquet:"error_class,optional"`
	Output     *string  `parquet:"output,optional"`
}

// ScoreRow is a line of the table scores.
type ScoreRow struct {
	Run         string   `parquet:"run"`
	Iteration   *int64   `parquet:"iteration,optional"`
	Scorer      string   `parquet:"scorer"`
	Version     string   `parquet:"version"`
	Value       *float64 `parquet:"value,optional"`
	Unscored    *string  `parquet:"unscored,optional"`
	Answer      *string  `parquet:"answer,optional"`
	Explanation *string  `parquet:"explanation,optional"`
	Votes       int64    `parquet:"votes"`
	CostUSD     *float64 `parquet:"cost_usd,optional"`
}

// UsageCells are the columns of a usage; calls and tokens are null where they are unknown.
type UsageCells struct {
	Calls              *int64   `parquet:"calls,optional"`
	ToolCalls          int64    `parquet:"tool_calls"`
	InputTokens        *int64   `parquet:"input_tokens,optional"`
	CachedTokens       *int64   `parquet:"cached_tokens,optional"`
	CacheWriteTokens   *int64   `parquet:"cache_write_tokens,optional"`
	CacheWrite1hTokens *int64   `parquet:"cache_write_1h_tokens,optional"`
	OutputTokens       *int64   `parquet:"output_tokens,optional"`
	ReasoningTokens    *int64   `parquet:"reasoning_tokens,optional"`
	CostUSD            *float64 `parquet:"cost_usd,optional"`
}

func usageCells(u record.Usage) UsageCells {
	c := UsageCells{ToolCalls: u.ToolCalls, CostUSD: costOf(u)}
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
	usd := u.Cost.Dollars()
	return &usd
}

// some is nil for what is not there.
func some[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}

func runRow(r *record.Run) RunRow {
	o := &r.Outcome
	made := RunRow{
		Run: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: int64(r.Trial), Cluster: some(r.Cluster), Group: some(r.Group),
		Status: string(o.Status), Reason: string(o.Reason), Class: string(o.Class), Success: o.Success, Returned: some(int64(o.Returned)),
		Iterations: int64(len(r.Iterations)), UsageCells: usageCells(r.Total()), JudgingUSD: costOf(r.Judging),
		WaitedS: r.Volatile.Waited.Seconds(), Simulated: r.Simulated,
	}
	if !r.Untimed {
		seconds := r.Elapsed.Seconds()
		made.ElapsedS = &seconds
	}
	if !r.Volatile.Started.IsZero() {
		started := r.Volatile.Started.UTC()
		made.Started = &started
	}
	if o.Error != nil {
		made.ErrorClass, made.Error = some(string(o.Error.Class)), some(o.Error.Message)
	}
	return made
}

func iterationRows(r *record.Run) []IterationRow {
	rows := make([]IterationRow, len(r.Iterations))
	for i := range r.Iterations {
		it := &r.Iterations[i]
		rows[i] = IterationRow{
			Run: r.ID, Iteration: int64(it.N), Phase: some(it.Phase), Strategy: some(it.Strategy), Steps: int64(len(it.Steps)),
			UsageCells: usageCells(it.Total()), Cut: some(it.Cut), Output: some(plainText(it.Output)), Confidence: it.Confidence,
		}
		row := &rows[i]
		if it.Evaluated() {
			row.Confidence, row.Passed = &it.Evaluation.Confidence, &it.Evaluation.Passed
		}
		if !it.Untimed {
			start, end := it.Start.Seconds(), it.End.Seconds()
			row.StartS, row.EndS = &start, &end
		}
		if it.Error != nil {
			row.ErrorClass = some(string(it.Error.Class))
		}
	}
	return rows
}

// plainText is a JSON string's text, and any other JSON as it is.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func scoreRow(s *record.Score) ScoreRow {
	made := ScoreRow{
		Run: s.Run, Iteration: some(int64(s.Iteration)), Scorer: s.Name, Version: s.Scorer, Unscored: some(s.Unscored),
		Answer: some(s.Answer), Explanation: some(s.Explanation), Votes: int64(len(s.Votes)), CostUSD: costOf(s.Usage),
	}
	if s.Unscored == "" {
		made.Value = &s.Value
	}
	return made
}

// TableFormats are the endings of the files that [WriteTables] writes.
var TableFormats = []string{"parquet", "csv"}

// Written is how many lines each table has.
type Written struct{ Runs, Iterations, Scores int }

// WriteTables writes the runs, iterations and scores of a result folder as three files of a format into another folder, which is
// made. Lines that cannot be read are told, and left out. Memory does not grow with the number of runs, but by 16 bytes for
// each score.
func WriteTables(dir, out, format string, tell func(error)) (n Written, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return n, err
	}
	write := func(name string, fill func(to string) error) error {
		return fill(filepath.Join(out, name+"."+format))
	}
	var runs *table[RunRow]
	var iterations *table[IterationRow]
	err = write("runs", func(to string) (err error) { runs, err = newTable[RunRow](to, format); return err })
	if err == nil {
		err = write("iterations", func(to string) (err error) { iterations, err = newTable[IterationRow](to, format); return err })
	}
	if err != nil {
		return n, err
	}
	for r, err := range record.ReadRuns(dir) {
		if record.Unreadable(err) {
			return n, err
		}
		if err != nil {
			tell(err)
			continue
		}
		rows := iterationRows(r)
		if err := errors.Join(runs.write(runRow(r)), iterations.write(rows...)); err != nil {
			return n, err
		}
		n.Runs, n.Iterations = n.Runs+1, n.Iterations+len(rows)
	}
	if err := errors.Join(runs.close(), iterations.close()); err != nil {
		return n, err
	}
	err = write("scores", func(to string) error {
		scores, err := newTable[ScoreRow](to, format)
		if err != nil {
			return err
		}
		n.Scores, err = writeScores(dir, scores, tell)
		return errors.Join(err, scores.close())
	})
	return n, err
}

// writeScores writes the scores that count: of one run, iteration and scorer the last one, unless that was removed.
func writeScores(dir string, to *table[ScoreRow], tell func(error)) (n int, err error) {
	seed := maphash.MakeSeed()
	key := func(s *record.Score) uint64 {
		return maphash.String(seed, s.Run+"\x00"+s.Name+"\x00"+strconv.Itoa(s.Iteration))
	}
	last := map[uint64]int32{}
	at := int32(0)
	for s, err := range record.ReadScores(dir) {
		if record.Unreadable(err) {
			return 0, err
		}
		if err == nil {
			last[key(&s)] = at
		}
		at++
	}
	at = 0
	for s, err := range record.ReadScores(dir) {
		if record.Unreadable(err) {
			return n, err
		}
		if err != nil {
			tell(err)
		} else if last[key(&s)] == at && !s.Removed {
			if err := to.write(scoreRow(&s)); err != nil {
				return n, err
			}
			n++
		}
		at++
	}
	return n, nil
}

// table writes rows into a file, in either format.
type table[T any] struct {
	file    *os.File
	parquet *parquet.GenericWriter[T]
	csv     *csv.Writer
	cells   []string
}

func newTable[T any](path, format string) (*table[T], error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	t := &table[T]{file: file}
	if format == "parquet" {
		t.parquet = parquet.NewGenericWriter[T](file, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(50_000), parquet.CreatedBy("agentbench", "", ""))
		return t, nil
	}
	t.csv = csv.NewWriter(file)
	return t, t.csv.Write(columnsOf(reflect.TypeFor[T]()))
}

func (t *table[T]) write(rows ...T) error {
	if t.parquet != nil {
		_, err := t.parquet.Write(rows)
		return err
	}
	for i := range rows {
		t.cells = appendCells(t.cells[:0], reflect.ValueOf(&rows[i]).Elem())
		if err := t.csv.Write(t.cells); err != nil {
			return err
		}
	}
	return nil
}

func (t *table[T]) close() error {
	var err error
	if t.parquet != nil {
		err = t.parquet.Close()
	} else {
		t.csv.Flush()
		err = t.csv.Error()
	}
	return errors.Join(err, t.file.Close())
}

// columnsOf are the names of a row's columns, in their order.
func columnsOf(row reflect.Type) (names []string) {
	for i := range row.NumField() {
		field := row.Field(i)
		if field.Type.Kind() == reflect.Struct {
			names = append(names, columnsOf(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		names = append(names, name)
	}
	return names
}

// appendCells writes a row as CSV has it: nothing for null, true and false, numbers in their shortest exact form.
func appendCells(cells []string, row reflect.Value) []string {
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Kind() == reflect.Struct:
			cells = appendCells(cells, field)
			continue
		case field.Kind() == reflect.Pointer && field.IsNil():
			cells = append(cells, "")
			continue
		case field.Kind() == reflect.Pointer:
			field = field.Elem()
		}
		switch value := field.Interface().(type) {
		case string:
			cells = append(cells, value)
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
