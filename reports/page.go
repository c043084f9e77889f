package reports

import (
	"io"
	"iter"
	"slices"
)

// Page is what a format writes, for example a report or a comparison. A format
// asks it for its tables, warnings and checks and knows nothing else of it, so
// that neither a new table nor another kind of page needs anything in the formats.
//
// The quote functions make a text from outside fit for the format.
type Page interface {
	// about are the kind of page and its suite.
	about() (kind, suite string)
	// heading is the line before all others.
	heading(quote func(string) string) string
	// answer is what a reader wants to know first.
	answer(quote func(string) string) answer
	// remark stands behind the title of each table; "": nothing.
	remark(quote func(string) string) string
	// tables are all tables, with rows or without, in the order in which people
	// read them. The first is there even without rows. One with the name Thresholds
	// is the last; formats for files show it first.
	tables(of audience) []table
	// wholeWarnings are about the page as a whole; those in cells are not among them.
	wholeWarnings() []note
	// warned are all warnings, each with the group of checks that it is about; "":
	// the whole.
	warned() iter.Seq2[string, note]
	// checks are the questions with a yes or no, group by group, those of the group
	// Thresholds first.
	checks() iter.Seq[check]
	// facts are told of a group of checks.
	facts(group string) []fact
	// writeJSON writes all of the page as one object.
	writeJSON(w io.Writer) error
}

// note is something that a reader of a number must know. It travels with the
// numbers and is printed as their footnote.
type note interface {
	// Text is the warning for people. Names and details in it come from outside;
	// quote makes them fit for the format.
	Text(quote func(string) string) string
	// Serious says that the warning puts numbers into question, or says that some
	// are missing, and is not only an explanation.
	Serious() bool
}

// state is how a check ended.
type state string

// The states; JUnit has a word for each.
const (
	passed  state = "passed"
	failed  state = "failed"  // it was measured, and the answer is no
	errored state = "error"   // it could not be measured
	skipped state = "skipped" // nothing says yes or no
	// undecided is the state of an answer that is told all the same.
	undecided state = "cannot_tell"
)

// answer is a state in a few words, which are fit for the format.
type answer struct {
	state state
	text  string
}

// check is a question to the results and what they answer.
type check struct {
	group, name string // names from outside
	state       state
	message     string  // one line, with the numbers and what is from outside
	seconds     float64 // as-if
	// loud says that a failure is worth an annotation of its own.
	loud bool
}

// fact is a number or a text with its name.
type fact struct{ name, value string }

// thresholdsGroup is the group of the checks that thresholds are, and the name of
// their table.
const thresholdsGroup = "thresholds"

// wanted are the tables to write that have rows. The first table is there
// without rows, too. Where nothing is picked, thresholds come first, except
// on a terminal, where they are told of on stderr.
func wanted(p Page, options Options, of audience) (wanted []table) {
	all := p.tables(of)
	names := options.Tables
	if len(names) == 0 {
		names = inOrder(all, options)
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(t table) bool { return t.name == name })
		if all[at].count > 0 || at == 0 {
			wanted = append(wanted, all[at])
		}
	}
	return wanted
}

// inOrder are the names of all tables in the order of a page of them all.
func inOrder(all []table, options Options) []string {
	names := namesOf(all)
	if last := len(names) - 1; last >= 0 && names[last] == thresholdsGroup {
		if names = names[:last]; !options.isTerminal() {
			names = slices.Insert(names, 0, thresholdsGroup)
		}
	}
	return names
}

func namesOf(tables []table) []string {
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].name
	}
	return names
}

// titled is the table's title with the page's remark.
func titled(p Page, t *table, quote func(string) string) string {
	if remark := p.remark(quote); remark != "" {
		return t.title + " · " + remark
	}
	return t.title
}
