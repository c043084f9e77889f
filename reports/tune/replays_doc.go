// Package replays tells what recorded runs say of other configurations. It makes no
// call and reads no file.
//
// The stages of the data, in order: a Source, which is a sweep, says what each
// candidate makes of the recorded runs. Runs are Held, so that candidates can be
// held against them; Collect makes a Replay of all: a row for each Configuration,
// with points where all runs are exact and bounds elsewhere, what runs take
// (Spending), why runs are not exact, and what stops those that are.
//
// A Replay is a page.Page, which page.Write puts into a format; what it knows is
// plain data, with JSON of a documented schema, and each of its tables is a file of
// its own. Columns serve tables of other pages that tell of configurations. Missing
// numbers say why and are never 0.

package tune
