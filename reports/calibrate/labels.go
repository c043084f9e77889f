package calibrate

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/source"
)

// File is the labels of a file.
type File struct {
	// Texts: the outputs are in the file; else its rows name runs.
	Texts  bool
	Second bool // it has a second label for some
	Labels []Label
	Kind   Kind
	// Levels are what labels can say, by their worth from 0 on; none: any number.
	Levels []Level
	// Ambiguous reports whether all labels are 0 or 1 and were read as numbers of a range
	// that goes beyond 1, and not as no and yes.
	Ambiguous bool

	file *source.File
}

// Label is what people said of one output.
type Label struct {
	// Run is a run's id; "": it is the one of Configuration, Task and Trial. Where the
	// outputs are in the file, only Task and Output are set.
	Run, Configuration, Task string
	Trial                    int
	Output                   string
	// Value is what the label is worth, from 0 to 1; Second is that of another person,
	// nil where there is none.
	Value  float64
	Second *float64

	first, second cell
	at            cell // what names the run or the task
	line          int
}

// Kind is what kind of labels a file has.
type Kind string

// The kinds.
const (
	YesNo  Kind = "yes or no"
	Choice Kind = "choices" // words that a judge chooses from
	Number Kind = "numbers"
)

// Level is one of the things that labels can say.
type Level struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Scale is how a scorer scores.
type Scale struct {
	// Choices are the words that it answers with; none: numbers.
	Choices []Level
	// From is worth 0 and To is worth 1; both 0: from 0 to 1.
	From, To float64
	Not      bool // what it finds is turned around
}

// worth is what a number of the scale is worth.
func (s *Scale) worth(x float64) float64 {
	from, to := s.ends()
	if x == from {
		return s.turned(0) // without a sign
	}
	return s.turned((x - from) / (to - from))
}

func (s *Scale) ends() (from, to float64) {
	if s.From == s.To {
		return 0, 1
	}
	return s.From, s.To
}

func (s *Scale) turned(value float64) float64 {
	if s.Not {
		return 1 - value
	}
	return value
}

func (s *Scale) holds(x float64) bool {
	from, to := s.ends()
	return min(from, to) <= x && x <= max(from, to)
}

// Fault is one at what a label names.
func (f *File) Fault(l *Label, hint, format string, args ...any) source.Fault {
	return f.fault(l.at, hint, format, args...)
}

func (f *File) fault(c cell, hint, format string, args ...any) source.Fault {
	before := f.file.Line(c.line)
	before = before[:min(len(before), max(0, c.column-1))]
	pos := source.Pos{Line: c.line, Col: utf8.RuneCountInString(before) + 1}
	for i := range args {
		const most = 200 // bytes
		if text, ok := args[i].(string); ok && len(text) > most {
			args[i] = strings.ToValidUTF8(text[:most], "") + "…"
		}
	}
	return source.Fault{File: f.file, Pos: pos, Len: utf8.RuneCountInString(c.text), Hint: hint, What: fmt.Sprintf(format, args...)}
}

// cell is a text and where it stands, its column counted in bytes.
type cell struct {
	text         string
	line, column int
}

// names are the columns that mean something; others are left alone.
var names = []string{"run", "configuration", "task", "trial", "output", "label", "label2"}

// columns are where the columns of a file stand; -1: it has none of that name.
type columns map[string]int

// headed reads the header, and finds what a file cannot do without.
func (f *File) headed(header []cell) (c columns, faults source.Faults) {
	c = columns{}
	for _, name := range names {
		c[name] = -1
	}
	for i, head := range header {
		name := strings.ToLower(strings.TrimSpace(head.text))
		if at, known := c[name]; known && at >= 0 {
			faults = append(faults, f.fault(head, "", "duplicate column %q", name))
		} else if known {
			c[name] = i
		}
	}
	f.Texts, f.Second = !c.has("run") && !c.has("configuration") && c.has("output"), c.has("label2")
	if !c.has("label") {
		faults = append(faults, f.fault(header[0], likely("label", header), "column \"label\" not found"))
	}
	if !c.has("run") && !(c.has("task") && (c.has("configuration") || c.has("output"))) {
		faults = append(faults, f.fault(header[0], "the header is run,label or configuration,task,trial,label or task,output,label", "no column names what is labelled"))
	}
	return c, faults
}

// likely is a hint at the column that may have been meant.
func likely(name string, header []cell) string {
	var heads []string
	for _, head := range header {
		if head := strings.ToLower(strings.TrimSpace(head.text)); !slices.Contains(names, head) {
			heads = append(heads, head)
		}
	}
	if closest := source.Closest(name, heads); closest != "" {
		return "is it " + closest + "?"
	}
	return "the first line of the file names its columns"
}

func (c columns) has(name string) bool { return c[name] >= 0 }

// of is the cell of a row in a column; an empty one where the file has no such
// column.
func (c columns) of(row []cell, name string) cell {
	if at := c[name]; at >= 0 && at < len(row) {
		return row[at]
	}
	return cell{}
}

// Read reads a CSV file with a header. Its columns may be separated by commas,
// semicolons or tabs; a byte order mark and any ends of lines are fine, and so are
// comments before the header. The labels are those in which there is no fault.
func Read(name string, text []byte, scale Scale) (*File, source.Faults) {
	f := &File{file: source.NewFile(name, text)}
	rows, faults := f.rows(withoutComments(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if len(rows) == 0 {
		return f, append(faults, source.Fault{File: f.file, What: "the file is empty", Hint: "its first line names the columns, for example run,label"})
	}
	c, found := f.headed(rows[0])
	if faults = append(faults, found...); len(found) > 0 {
		return f, faults
	}
	faults = append(faults, f.fill(rows[1:], len(rows[0]), c)...)
	faults = append(faults, f.judge(scale)...)
	if len(rows) == 1 && len(faults) == 0 {
		faults = append(faults, source.Fault{File: f.file, What: "no labels found"})
	}
	return f, faults
}

// withoutComments is a file whose comments are empty lines: lines that begin with #
// and stand before the header. Behind it # may begin the name of a task, and a header
// may begin with it, too.
func withoutComments(text []byte) []byte {
	rest, blank := text, []byte(nil)
	for {
		line, next, more := bytes.Cut(rest, []byte("\n"))
		comment := bytes.HasPrefix(line, []byte("#")) && !isHeader.Match(line)
		if !comment && len(bytes.TrimSpace(line)) > 0 || !more {
			return append(blank, rest...)
		}
		blank, rest = append(blank, '\n'), next
	}
}

// isHeader is a line with a column of labels.
var isHeader = regexp.MustCompile(`(?i)[,;\t]\s*"?label2?"?\s*(?:[,;\t]|$)`)

// rows are the cells of a file. After a fault in its quotes nothing more is known.
func (f *File) rows(text []byte) (rows [][]cell, faults source.Faults) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord = separator(text), -1
	for {
		fields, err := r.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return rows, faults
		case errors.As(err, &syntax):
			at := cell{line: syntax.Line, column: syntax.Column}
			return rows, append(faults, f.fault(at, "put a cell that contains quotes into quotes, and write each of its own twice", "invalid CSV: %v", syntax.Err))
		case err != nil: // of bytes there is no other
			return rows, append(faults, source.Fault{File: f.file, What: err.Error()})
		}
		row := make([]cell, len(fields))
		for i, text := range fields {
			row[i].text = text
			row[i].line, row[i].column = r.FieldPos(i)
		}
		rows = append(rows, row)
	}
}

// separator is what separates the names in the header.
func separator(text []byte) rune {
	header, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	most := ','
	for _, other := range []rune{';', '\t'} {
		if bytes.Count(header, []byte(string(other))) > bytes.Count(header, []byte(string(most))) {
			most = other
		}
	}
	return most
}

// fill makes labels of rows, without knowing what they are worth.
func (f *File) fill(rows [][]cell, width int, c columns) (faults source.Faults) {
	met := map[string]int{}
	for _, row := range rows {
		l, found := f.label(row, width, c)
		if len(found) == 0 {
			if before, twice := met[l.key()]; twice {
				found = append(found, f.Fault(&l, "", "already labelled in line %d", before))
			}
			met[l.key()] = l.line
		}
		if faults = append(faults, found...); len(found) == 0 {
			f.Labels = append(f.Labels, l)
		}
	}
	return faults
}

// key is the same for labels of the same output.
func (l *Label) key() string {
	return strings.Join([]string{l.Run, l.Configuration, l.Task, strconv.Itoa(l.Trial), l.Output}, "\x00")
}

func (f *File) label(row []cell, width int, c columns) (l Label, faults source.Faults) {
	l = Label{first: c.of(row, "label"), second: c.of(row, "label2"), line: row[0].line}
	if len(row) != width {
		return l, source.Faults{f.fault(row[len(row)-1], "put a cell that contains a separator into quotes", "the row has %d cells, and the header %d", len(row), width)}
	}
	for _, cell := range row {
		if !utf8.ValidString(cell.text) {
			faults = append(faults, f.fault(cell, "save the file as UTF-8", "invalid UTF-8"))
		}
	}
	if strings.TrimSpace(l.first.text) == "" {
		faults = append(faults, f.fault(l.first, "leave out rows without a label", "the label is empty"))
	}
	return l, append(faults, f.place(&l, row, c)...)
}

// place reads what is labelled.
func (f *File) place(l *Label, row []cell, c columns) (faults source.Faults) {
	l.at = c.of(row, "run")
	if c.has("run") {
		l.Run = l.at.text
		return f.named("run", l.at)
	}
	l.at = c.of(row, "task")
	l.Task = l.at.text
	faults = f.named("task", l.at)
	if f.Texts {
		l.Output = c.of(row, "output").text
		return faults
	}
	configuration := c.of(row, "configuration")
	l.Configuration, l.Trial = configuration.text, 1
	faults = append(faults, f.named("configuration", configuration)...)
	if !c.has("trial") {
		return faults
	}
	trial := c.of(row, "trial")
	var err error
	if l.Trial, err = strconv.Atoi(strings.TrimSpace(trial.text)); err != nil || l.Trial < 1 {
		faults = append(faults, f.fault(trial, "", "trial %q: want a whole number from 1", trial.text))
	}
	return faults
}

func (f *File) named(what string, c cell) source.Faults {
	if c.text != "" {
		return nil
	}
	return source.Faults{f.fault(c, "", "the %s is empty", what)}
}

// truths are words for yes and no.
var truths = map[string]float64{"true": 1, "false": 0, "yes": 1, "no": 0, "pass": 1, "fail": 0, "1": 1, "0": 0}

// judge finds out what kind of labels there are, and what each is worth.
func (f *File) judge(scale Scale) (faults source.Faults) {
	f.Kind = f.kind(&scale)
	judged := f.Labels[:0:0]
	for i := range f.Labels {
		l := &f.Labels[i]
		var found source.Faults
		l.Value, found = f.value(l.first, &scale)
		if second := strings.TrimSpace(l.second.text); second != "" {
			value, wrong := f.value(l.second, &scale)
			l.Second, found = &value, append(found, wrong...)
		}
		if faults = append(faults, found...); len(found) == 0 {
			judged = append(judged, *l)
		}
	}
	f.Levels = f.levels(&scale)
	f.Labels = judged
	return faults
}

func (f *File) texts() (all []string) {
	for i := range f.Labels {
		for _, c := range []cell{f.Labels[i].first, f.Labels[i].second} {
			if text := plain(c.text); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// plain is a text without what makes no difference: 1.0 is 1.
func plain(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if x, err := strconv.ParseFloat(text, 64); err == nil && (x == 0 || x == 1) {
		return plainNumber(math.Abs(x))
	}
	return text
}

// kind is choices where one of the labels is one, else yes or no where one of them
// says so. Zeros and ones alone say so on a scale from 0 to 1, and where they are not
// on the scale.
func (f *File) kind(scale *Scale) Kind {
	texts := f.texts()
	choice := func(text string) bool { _, ok := scale.choice(text); return ok }
	word := func(text string) bool { _, ok := truths[text]; return ok && text != "0" && text != "1" }
	switch {
	case slices.ContainsFunc(texts, choice):
		return Choice
	case slices.ContainsFunc(texts, word):
		return YesNo
	case len(scale.Choices) > 0 && !slices.ContainsFunc(texts, isTruth):
		return Choice // or none that is known
	case slices.ContainsFunc(texts, isNumber):
		return Number
	}
	from, to := scale.ends()
	if len(scale.Choices) == 0 && (min(from, to) != 0 || max(from, to) != 1) && !slices.ContainsFunc(texts, scale.misses) {
		f.Ambiguous = true
		return Number
	}
	return YesNo
}

func isTruth(text string) bool { _, ok := truths[text]; return ok }

// isNumber reports whether a text is one that means neither yes nor no.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && !isTruth(text)
}

// misses reports whether a number is not on the scale.
func (s *Scale) misses(text string) bool {
	x, err := strconv.ParseFloat(text, 64)
	return err != nil || !s.holds(x)
}

// choice is what a word is worth that the judge could have said.
func (s *Scale) choice(text string) (value float64, ok bool) {
	at := slices.IndexFunc(s.Choices, func(c Level) bool { return plain(c.Name) == plain(text) })
	if at < 0 {
		return 0, false
	}
	return s.turned(s.Choices[at].Value), true
}

// value is what a label is worth.
func (f *File) value(c cell, scale *Scale) (value float64, faults source.Faults) {
	text := plain(c.text)
	var ok bool
	switch f.Kind {
	case Choice:
		value, ok = scale.choice(text)
	case YesNo:
		value, ok = truths[text]
	case Number:
		x, err := strconv.ParseFloat(text, 64)
		if err == nil && !scale.holds(x) && !math.IsNaN(x) {
			from, to := scale.ends()
			return 0, source.Faults{f.fault(c, "", "the label %v is not between %v and %v", x, min(from, to), max(from, to))}
		}
		value, ok = scale.worth(x), err == nil && !math.IsNaN(x)
	}
	if ok {
		return value, nil
	}
	return 0, source.Faults{f.fault(c, f.hint(text, scale), "unknown label %q: want %s", strings.TrimSpace(c.text), f.wanted(scale))}
}

// wanted is what labels of the kind say.
func (f *File) wanted(scale *Scale) string {
	switch f.Kind {
	case Choice:
		return "one of the judge's choices " + strings.Join(scale.words(), ", ")
	case YesNo:
		return "yes or no, as in other rows (true and false, pass and fail, 1 and 0 are fine, too)"
	}
	from, to := scale.ends()
	return "a number from " + plainNumber(min(from, to)) + " to " + plainNumber(max(from, to))
}

func (f *File) hint(text string, scale *Scale) string {
	if f.Kind == Number && strings.Contains(text, ",") {
		return "write decimals with a point"
	}
	words := []string{"yes", "no", "true", "false", "pass", "fail"}
	if f.Kind == Choice {
		words = scale.words()
	}
	if closest := source.Closest(text, words); closest != "" {
		return "did you mean " + closest + "?"
	}
	return ""
}

func (s *Scale) words() (words []string) {
	for _, c := range s.Choices {
		words = append(words, c.Name)
	}
	return words
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// mostLevels of numbers are distinguished.
const mostLevels = 11

// levels are what labels can say, in the order of their worth.
func (f *File) levels(scale *Scale) []Level {
	switch f.Kind {
	case YesNo:
		return []Level{{"no", 0}, {"yes", 1}}
	case Number:
		return f.numberLevels(scale)
	}
	var levels []Level
	for _, c := range scale.Choices { // those that are worth the same are one
		value := scale.turned(c.Value)
		if at := slices.IndexFunc(levels, func(l Level) bool { return l.Value == value }); at >= 0 {
			levels[at].Name += "/" + c.Name
			continue
		}
		levels = append(levels, Level{c.Name, value})
	}
	return sorted(levels)
}

// numberLevels are the whole numbers of a scale of few, or else the numbers that were
// given; none where these are many.
func (f *File) numberLevels(scale *Scale) (levels []Level) {
	var numbers []float64 // that labels say, each once
	for _, text := range f.texts() {
		if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			numbers = append(numbers, x)
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	fraction := func(x float64) bool { return x != math.Trunc(x) }
	from, to := scale.ends()
	if from, to = min(from, to), max(from, to); to-from < mostLevels && to-from > 1 && !slices.ContainsFunc(append(numbers, from, to), fraction) {
		numbers = nil
		for x := from; x <= to; x++ {
			numbers = append(numbers, x)
		}
	}
	if len(numbers) > mostLevels {
		return nil
	}
	for _, x := range numbers {
		levels = append(levels, Level{plainNumber(x), scale.worth(x)})
	}
	return sorted(levels)
}

func sorted(levels []Level) []Level {
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(a.Value, b.Value) })
	return levels
}
