// Package tune tells what was found by choosing among configurations: a Tuning, with
// the choice, its neighbours, the front, the folds, which limits bind and what a
// success more costs. Package choose fills it in; here it is plain data, with JSON of
// a documented schema.
//
// A Tuning is a page.Page, which page.Write puts into a format. Its answer is a
// sentence, and each of its tables is a file of its own. Missing numbers say why and
// are never 0.
package tune
