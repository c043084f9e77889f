// Package page decides how a page of tables becomes bytes: in which formats, for
// people or for machines, and with which footnotes.
//
// A Page is anything that has tables, warnings and checks, for example a report or
// a comparison. Its tables hold cells, which know their number, its text and what
// warns of it; Write puts them into one of the Formats (writeTerminal and its
// siblings, one file each). A new format asks the page for nothing else, and a new
// page needs nothing in the formats. A page that is Charted has charts, too, which are
// values; HTML draws them (svg.go).
//
// Texts from outside, for example names, are marked as such, and no format lets
// them be obeyed: by a terminal, a browser, a spreadsheet, a reader of Markdown or
// a runner of CI.
//
// It is no stable API.
package page

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Page is what a format writes, for example a report or a comparison. A format
// asks it for its tables, warnings and checks and knows nothing else of it, so
// that neither a new table nor another kind of page needs anything in the formats.
type Page interface {
	// About are the kind of page and its suite.
	About() (kind, suite string)
	// Heading is the line before all others.
	Heading() Words
	// Answer is what a reader wants to know first.
	Answer() Answer
	// Remark stands behind the title of each table; "": nothing.
	Remark() Words
	// Tables are all tables, with rows or without, in the order in which people
	// read them. The first is there even without rows. One with the name Thresholds
	// is the last; formats for files show it first.
	Tables(of Audience) []Table
	// WholeWarnings are about the page as a whole; those in cells are not among them.
	WholeWarnings() []Warning
	// Warned are all warnings, each with the group of checks that it is about; "":
	// the whole.
	Warned() iter.Seq2[string, Warning]
	// Checks are the questions with a yes or no, group by group, those of the group
	// Thresholds first.
	Checks() iter.Seq[Check]
	// Facts are told of a group of checks.
	Facts(group string) []Fact
	// WriteJSON writes all of the page as one object.
	WriteJSON(w io.Writer) error
}

// Warning is something that a reader of a number must know. It travels with the
// numbers and is printed as their footnote.
type Warning interface {
	// Text is the warning for people.
	Text() Words
	// Serious says that the warning puts numbers into question, or says that some
	// are missing, and is not only an explanation.
	Serious() bool
}

// Listed is a warning about runs that a page to browse can list.
type Listed interface {
	// Listed are what the runs are of, a name from outside, and the fragment of their filter.
	Listed() (of, fragment string)
}

// Warnings are those of any kind.
func Warnings[W Warning](all []W) []Warning {
	warnings := make([]Warning, len(all))
	for i, w := range all {
		warnings[i] = w
	}
	return warnings
}

// SimulatedBy says which models nothing real was measured with; "": none.
func SimulatedBy(models []string) Words {
	if len(models) == 0 {
		return ""
	}
	quoted := make([]string, len(models))
	for i, name := range models {
		quoted[i] = Foreign(name)
	}
	return Words("simulated by " + strings.Join(quoted, ", "))
}

// State is how a check ended.
type State string

// The states; JUnit has a word for each.
const (
	Passed  State = "passed"
	Failed  State = "failed"  // it was measured, and the answer is no
	Errored State = "error"   // it could not be measured
	Skipped State = "skipped" // nothing says yes or no
	// Undecided is the state of an answer that is told all the same.
	Undecided State = "cannot_tell"
)

// Answer is a state in a few words.
type Answer struct {
	State State
	Text  Words
	More  []Words // sentences, each on a line of its own where there is room for it
}

// InOneLine is all of it in one line.
func (a Answer) InOneLine() Words { return InOneLine(append([]Words{a.Text}, a.More...)...) }

// InOneLine are sentences in one line.
func InOneLine(all ...Words) (line Words) {
	for i, sentence := range all {
		if i > 0 {
			line += "; "
		}
		line += sentence
	}
	return line
}

// Check is a question to the results and what they answer.
type Check struct {
	Group, Name string // names from outside
	State       State
	Message     string  // one line, with the numbers and what is from outside
	Seconds     float64 // as-if
	Untimed     bool    // Seconds is unknown
	// Loud says that a failure is worth an annotation of its own.
	Loud bool
	// Score says that the check only shows scores: that it fails does not make the command fail.
	Score bool
}

// Fact is a number or a text with its name.
type Fact struct{ Name, Value string }

// Thresholds is the group of the checks that thresholds are, and the name of
// their table.
const Thresholds = "thresholds"

// wanted are the tables to write that have rows. The first table is there
// without rows, too. Where nothing is picked, thresholds come first, except
// on a terminal, where they are told of on stderr.
func wanted(p Page, options Options, of Audience) (wanted []Table) {
	all := p.Tables(of)
	names := options.Tables
	if len(names) == 0 {
		names = inOrder(all, options)
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(t Table) bool { return t.Name == name })
		if all[at].Count > 0 || at == 0 {
			wanted = append(wanted, all[at])
		}
	}
	return wanted
}

// inOrder are the names of all tables in the order of a page of them all.
func inOrder(all []Table, options Options) []string {
	names := namesOf(all)
	if last := len(names) - 1; last >= 0 && names[last] == Thresholds {
		if names = names[:last]; !options.isTerminal() {
			names = slices.Insert(names, 0, Thresholds)
		}
	}
	return names
}

func namesOf(tables []Table) []string {
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].Name
	}
	return names
}

// titled is the table's title with the page's remark.
func titled(p Page, t *Table) Words {
	if remark := p.Remark(); remark != "" {
		return Words(t.Title+" · ") + remark
	}
	return Words(t.Title)
}

// Options say how a page is written. The zero value writes all tables to a
// terminal of 80 columns, without colour.
type Options struct {
	// Format is one of Formats; "" is terminal.
	Format string
	Width  int  // in terminal columns; 0 means 80
	Color  bool // on a terminal
	// Summary shows the summary of a page that has one, on a terminal and where no
	// tables are named.
	Summary bool
	// Tables are the names of the tables to write, in their order; none means
	// all of them, and the first one in CSV, which holds one table only. JSON
	// and JUnit always hold everything.
	Tables []string
	// Cases are the checks that JUnit has as test cases, one of JUnitCases; "" is both.
	Cases string
	// Live makes an HTML page one that can be browsed; nil: it has no script.
	Live *Live
}

// JUnitCases are the checks that JUnit can have: those that make the command fail, those that only show scores, or both.
var JUnitCases = []string{"thresholds", "scores", "both"}

// columns are those of the terminal.
func (o *Options) columns() int {
	if o.Width <= 0 {
		return 80
	}
	return o.Width
}

func (o *Options) isTerminal() bool { return o.Format == "" || o.Format == "terminal" }

// Formats are the formats that there are.
var Formats = []string{"terminal", "markdown", "csv", "json", "html", "junit", "github", "comment"}

// Write writes a page in one of the formats.
func Write(w io.Writer, p Page, options Options) error {
	write, ok := map[string]func(io.Writer, Page, Options) error{
		"": writeTerminal, "terminal": writeTerminal, "markdown": writeMarkdown, "csv": writeCSV, "json": writeJSON,
		"html": writeHTML, "junit": writeJUnit, "github": writeGitHub, "comment": writeComment,
	}[options.Format]
	if !ok {
		return fmt.Errorf("unknown format %q: the formats are %s", options.Format, strings.Join(Formats, ", "))
	}
	names := namesOf(p.Tables(People))
	for _, name := range options.Tables {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown table %q: the tables are %s", name, strings.Join(names, ", "))
		}
	}
	if err := write(w, p, options); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
