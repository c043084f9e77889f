package labels

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/source"
)

// File is the labels of a file.
type File struct {
	// Texts says that the outputs stand in the file; else its rows name runs.
	Texts  bool
	Second bool // it has a second label for some
	Labels []Label
	Kind   Kind
	// Levels are what labels can say, by their worth from 0 on; none: any number.
	Levels []Level
	// Ambiguous says that all labels are 0 or 1 and were read as numbers of a range
	// that goes beyond 1, and not as no and yes.
	Ambiguous bool

	file *source.File
}

// Label is what people said of one output.
type Label struct {
	// Run is a run's id; "": it is the one of Configuration, Task and Trial. Where the
	// outputs stand in the file there are only Task and Output.
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

// holds says that a number is on the scale.
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
		if text, ok := args[i].(string); ok {
			args[i] = begin(text)
		}
	}
	return source.Fault{File: f.file, Pos: pos, Len: utf8.RuneCountInString(c.text), Hint: hint, What: fmt.Sprintf(format, args...)}
}

// begin is the beginning of a text that is too long to be told.
func begin(text string) string {
	const most = 200 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// cell is a text and where it stands, its column counted in bytes.
type cell struct {
	text         string
	line, column int
}
