// Package tune decides which configuration is taken, from what recorded runs say
// of many, and which paths stay in a race where new calls are needed. It makes no
// call and reads no file.
//
// The stages of the data, in order: a Source, which is a sweep, says what each
// candidate makes of the recorded runs. Replay turns that into a Replayed: one row
// for each configuration, with points where all runs are exact and bounds
// elsewhere. Tune measures the candidates by an objective and a cost, applies
// constraints, takes one by a Rule, tries the same rule on folds of the tasks that
// it was not made on, and tells what it found in a Tuning: the choice, its
// neighbours, the front, the folds, which limits bind and what a success more
// costs. A Race decides, from wins and losses alone, who goes on and who is dropped.
//
// Replayed and Tuning are both a page.Page, which page.Write puts into a format;
// what they know is plain data, with JSON of a documented schema, and each of
// their tables is a file of its own. Missing numbers say why and are never 0, and
// the same runs give the same bytes.
package tune
