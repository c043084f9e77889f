// Package reports decides what the records of a suite say: it groups them by
// configuration and task, compares, warns, and lays out the tables.
//
// The stages of the data, in order: Collect reads the signals and scores of a
// result folder into a Report, which holds numbers and warnings and no text of
// any run; Diff lays two of them beside each other in a Comparison; each table is
// built from either as cells (configurationsTable and its siblings, one file
// each). Both are a page.Page, which page.Write puts into a format. Missing
// numbers stay missing through all of it: they are never 0.
//
// Two reports on the same records are equal byte for byte, in whatever order
// the records come: sums are of integers, or of sorted values.
package reports
