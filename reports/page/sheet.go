package page

import (
	"encoding/json"
	"io"
	"iter"
)

// Note is a remark below the tables of a sheet: a Warning that is not serious.
type Note struct{ Words }

// Text is the remark.
func (n Note) Text() Words { return n.Words }

// Serious is false: it explains.
func (n Note) Serious() bool { return false }

// Sheet is a page of plain tables: what a command lists that measures nothing and
// answers with no yes or no.
type Sheet struct {
	Kind, Suite string
	Head, Said  Words // the line above all, and the one below it
	List        []Table
	Notes       []Words
}

// About are the kind and the suite.
func (s *Sheet) About() (kind, suite string) { return s.Kind, s.Suite }

// Heading is the line above all.
func (s *Sheet) Heading() Words { return s.Head }

// Answer says no yes or no.
func (s *Sheet) Answer() Answer {
	if s.Said != "" {
		return Answer{State: Undecided, Text: s.Said}
	}
	return Answer{State: Skipped}
}

// Remark is none.
func (s *Sheet) Remark() Words { return "" }

// Tables are those of the sheet.
func (s *Sheet) Tables(Audience) []Table { return s.List }

// WholeWarnings are the notes.
func (s *Sheet) WholeWarnings() (all []Warning) {
	for _, n := range s.Notes {
		all = append(all, Note{n})
	}
	return all
}

// Warned are the notes.
func (s *Sheet) Warned() iter.Seq2[string, Warning] {
	return func(yield func(string, Warning) bool) {
		for _, n := range s.WholeWarnings() {
			if !yield("", n) {
				return
			}
		}
	}
}

// Checks are one that is skipped: nothing was asked.
func (s *Sheet) Checks() iter.Seq[Check] {
	return func(yield func(Check) bool) {
		yield(Check{Group: s.Kind, Name: s.Suite, State: Skipped, Message: s.Head.Visible()})
	}
}

// Facts are none.
func (s *Sheet) Facts(string) []Fact { return nil }

// WriteJSON writes an object with the suite, the heading, the rows of each table under
// its name, by the keys of their columns, and the notes.
func (s *Sheet) WriteJSON(w io.Writer) error {
	whole := object{{"schema", "agentbench/" + s.Kind + "/1"}, {"suite", s.Suite}, {"heading", s.Head.Raw()}}
	for i := range s.List {
		t, rows := &s.List[i], []object{}
		keep := t.columnsFor(Machines, nil)
		for row := range t.Rows {
			var of object
			for _, at := range keep {
				of = append(of, member{t.Columns[at].Key, row[at].Raw})
			}
			rows = append(rows, of)
		}
		whole = append(whole, member{t.Name, rows})
	}
	notes := []string{}
	for _, n := range s.Notes {
		notes = append(notes, n.Raw())
	}
	return WriteObject(w, append(whole, member{"notes", notes}))
}

// object is one of JSON whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		if number, ok := m.value.(float64); ok {
			m.value = Raw(number)
		}
		name, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}
