// Package calibrate tells how well a scorer agrees with people: a judge above all,
// which is a model, and whose word counts no more than that.
//
// The stages of the data, in order: Pairs are labelled outputs with their scores; Of
// makes a Calibration of them, with agreement and kappa (agreement.go), what is
// mistaken for what (confusion.go), by how much the scorer is too kind or too strict
// and how well its numbers foretell the labels (measures.go), and how many labels
// are missing until that is known well enough (enough.go). Outputs of one task, or of one cluster
// of tasks, depend on each other: intervals are by these.
//
// A Calibration is a page.Page, plain data with JSON of a documented schema. Missing
// numbers say why and are never 0.
package calibrate
