package imports

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// ErrLabels is that labels do not fit the runs.
var ErrLabels = errors.New("wrong labels")

// Labels are scores of runs from a CSV file. Its first line names the columns: id, which is the
// id of a run or of its task, and a score each.
type Labels struct {
	file   string
	scores []string
	rows   map[string]*labelled
	ids    []string // in the order of the file
	// Unlabelled counts the runs that have no row, and FirstUnlabelled is the first.
	Unlabelled      int
	FirstUnlabelled string
}

// labelled is a row of labels.
type labelled struct {
	line   int
	values []string
	run    string // that it was used for
}

// ReadLabels reads a file of labels. The error names the line that is wrong.
func ReadLabels(name string, r io.Reader) (*Labels, error) {
	reader := csv.NewReader(r)
	columns, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, tableError(err))
	}
	columns[0] = strings.TrimPrefix(columns[0], "\ufeff")
	at := slices.Index(columns, "id")
	if at < 0 || len(columns) < 2 {
		return nil, fmt.Errorf("%s:1: want a column id and a column for each score, got %s", name, strings.Join(columns, ", "))
	}
	for i, column := range columns {
		if slices.Contains(columns[:i], column) {
			return nil, fmt.Errorf("%s:1: the column %q is there twice", name, column)
		}
	}
	l := &Labels{file: name, scores: slices.Delete(slices.Clone(columns), at, at+1), rows: map[string]*labelled{}}
	for {
		values, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, tableError(err))
		}
		line, _ := reader.FieldPos(0)
		id := values[at]
		if before := l.rows[id]; before != nil {
			return nil, fmt.Errorf("%s:%d: the id %q is in line %d already", name, line, id, before.line)
		}
		row := &labelled{line: line, values: slices.Delete(values, at, at+1)}
		for i, value := range row.values {
			if _, err := labelOf(value); err != nil {
				return nil, fmt.Errorf("%s:%d: %s is %q; want a number, true or false, or nothing where it is unknown", name, line, l.scores[i], value)
			}
		}
		l.rows[id], l.ids = row, append(l.ids, id)
	}
}

// labelOf is the number of a score.
func labelOf(text string) (float64, error) {
	switch strings.ToLower(text) {
	case "true":
		return 1, nil
	case "false", "":
		return 0, nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if value-value != 0 {
		err = strconv.ErrRange
	}
	return value, err
}

// label adds the scores of a run to those that the log has; they replace those of the same name. A run without a row keeps
// those of the log.
func (l *Labels) label(run *record.Run, j *judged) error {
	row, ofTask := l.rows[run.ID], l.rows[run.Task]
	switch {
	case row != nil && ofTask != nil:
		first, line, id := ofTask, row.line, run.Task
		if row.line < line {
			first, line, id = row, ofTask.line, run.ID
		}
		return fmt.Errorf("%w: %s:%d is the run that line %d names already, as %q", ErrLabels, l.file, line, first.line, id)
	case row == nil && ofTask != nil && ofTask.run != "":
		return fmt.Errorf("%w: %s:%d is the task of several runs: write their ids, %s and %s", ErrLabels, l.file, ofTask.line, ofTask.run, run.ID)
	case row == nil:
		row = ofTask
	}
	logged := j.names()
	for _, s := range j.run {
		logged = append(logged, s.Name)
	}
	unscored := false
	for i, name := range l.scores {
		if row == nil && slices.Contains(logged, name) {
			continue
		}
		score := record.Score{Name: name, Unscored: l.file + " has no score of it"}
		if row != nil && row.values[i] != "" {
			score.Unscored = ""
			score.Value, _ = labelOf(row.values[i]) // it was read before
		}
		unscored = unscored || row == nil
		j.run = append(slices.DeleteFunc(j.run, func(s record.Score) bool { return s.Name == name }), score)
	}
	if row != nil {
		row.run = run.ID
	}
	if unscored {
		if l.Unlabelled++; l.Unlabelled == 1 {
			l.FirstUnlabelled = run.ID
		}
	}
	return nil
}

// Unused are the ids that no run has, in the order of the file.
func (l *Labels) Unused() (ids []string) {
	for _, id := range l.ids {
		if l.rows[id].run == "" {
			ids = append(ids, id)
		}
	}
	return ids
}
