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
// empty cell in CSV. docs/results.md explains the columns.

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

// WriteTables writes the runs, iterations, scores and scores at steps of a result folder as four files of a format into another
// folder, which it makes. Cell makes texts fit for CSV. Memory grows with the number of scores, not with that of runs.
func WriteTables(dir, out, format string, cell func(text string) string) (n Written, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return n, err
	}
	runs := func(write func(runRow) error) error {
		return eachOf(record.ReadRuns(dir), func(r *record.Run) error { return write(rowOfRun(r)) })
	}
	iterations := func(write func(iterationRow) error) error {
		return eachOf(record.ReadRuns(dir), func(r *record.Run) (err error) {
			for i := range r.Iterations {
				err = cmp.Or(err, write(rowOfIteration(r, &r.Iterations[i])))
			}
			return err
		})
	}
	scores := func(write func(scoreRow) error) error {
		key := func(s record.Score) string { return s.Run + "\x00" + s.Name + "\x00" + strconv.Itoa(s.Iteration) }
		return eachLast(record.ReadScores(dir), key, func(s record.Score) error {
			if s.Removed {
				return nil
			}
			return write(rowOfScore(&s))
		})
	}
	steps := func(write func(stepRow) error) error {
		key := func(s record.Snapshot) string { return s.Run + "\x00" + s.Key + "\x00" + strconv.Itoa(s.Iteration) }
		return eachLast(record.ReadSnapshots(dir), key, func(s record.Snapshot) (err error) {
			for _, step := range s.Steps {
				for _, name := range s.Scorers() {
					err = cmp.Or(err, write(rowOfStep(&s, step, s.Score(name))))
				}
			}
			return err
		})
	}
	file := func(name string) string { return filepath.Join(out, name+"."+format) }
	if n.Runs, err = writeTable(file("runs"), cell, runs); err == nil {
		n.Iterations, err = writeTable(file("iterations"), cell, iterations)
	}
	if err == nil {
		n.Scores, err = writeTable(file("scores"), cell, scores)
	}
	if err == nil {
		n.Steps, err = writeTable(file("steps"), cell, steps)
	}
	return n, err
}

// eachOf visits what was read, until an error.
func eachOf[T any](lines iter.Seq2[T, error], visit func(T) error) error {
	for line, err := range lines {
		if err == nil {
			err = visit(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachLast visits, of lines with the same key, the last one. The lines are read twice.
func eachLast[T any](lines iter.Seq2[T, error], key func(T) string, visit func(T) error) error {
	seed, last, at := maphash.MakeSeed(), map[uint64]int{}, 0
	sum := func(line T) uint64 { return maphash.String(seed, key(line)) } // a file may have millions
	err := eachOf(lines, func(line T) error {
		last[sum(line)] = at
		at++
		return nil
	})
	if err != nil {
		return err
	}
	at = -1
	return eachOf(lines, func(line T) error {
		if at++; last[sum(line)] != at {
			return nil
		}
		return visit(line)
	})
}

// writeTable writes rows into a file, in the format that its name ends in, and counts them.
func writeTable[T any](path string, cell func(text string) string, rows func(write func(T) error) error) (n int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(file)
	lines, table := json.NewEncoder(out), csv.NewWriter(out)
	lines.SetEscapeHTML(false)
	write := func(row T) error { return lines.Encode(&row) }
	if filepath.Ext(path) == ".csv" {
		err = table.Write(columnsOf(reflect.TypeFor[T]()))
		write = func(row T) error { return table.Write(appendCells(nil, reflect.ValueOf(&row).Elem(), cell)) }
	}
	if err == nil {
		err = rows(func(row T) error {
			n++
			return write(row)
		})
	}
	table.Flush()
	return n, errors.Join(err, table.Error(), out.Flush(), file.Close())
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
func appendCells(cells []string, row reflect.Value, cell func(text string) string) []string {
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Kind() == reflect.Struct:
			cells = appendCells(cells, field, cell)
			continue
		case field.Kind() == reflect.Pointer && field.IsNil():
			cells = append(cells, "")
			continue
		case field.Kind() == reflect.Pointer:
			field = field.Elem()
		}
		switch value := field.Interface().(type) {
		case string:
			cells = append(cells, cell(value))
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
