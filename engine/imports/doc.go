// Package imports decides how the logs of other tools become records. A mapping
// (spec.Import) says where the runs of a log are and what each was; this package
// reads files row by row, evaluates the mapping on each, and makes of it a run as
// a loop would have left it behind, with its scores.
//
// The files, in the order of the data: file.go (a file to rows), stream.go (JSON
// without holding it whole), archive.go (members of a zip file), rows.go (what a
// mapping calls a row), values.go (expressions to what records hold), row.go (a
// row to a run), limits.go (under which limits it was made), iteration.go,
// usage.go, scores.go, outcome.go (why it stopped, by the rules that the log was
// made under), identity.go (ids that stand twice).
package imports
