// Package reports decides what the records of a suite say: it groups them by
// configuration and task, compares, warns, and writes the tables.
//
// The stages of the data, in order: Collect reads the signals and scores of a
// result folder into a Report, which holds numbers and warnings and no text of
// any run; each table is built from the report as cells (configurationsTable
// and its siblings, one file each); each format writes the cells (writeTerminal
// and its siblings, one file each). Missing numbers stay missing through all of
// it: they are never 0.
//
// Two reports on the same records are equal byte for byte, in whatever order
// the records come: sums are of integers, or of sorted values.
package reports
