// Package choose decides which configuration is taken, from what recorded runs say of
// many. It makes no call and reads no file.
//
// The stages of the data, in order: a Source, which is a sweep, says what each
// candidate makes of the recorded runs. Among divides the tasks into folds, measures
// all candidates by an objective and a cost, applies constraints, takes one by a
// Rule, and tries the same rule on folds of the tasks that it was not made on. What
// was found becomes a tune.Tuning, of which each part is a file: the choice, its
// neighbours, the front, the folds, which limits bind and what a success more costs.
// The same runs give the same Tuning, in whatever order they and the candidates come.
package choose
