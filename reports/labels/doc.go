// Package labels decides what people said of outputs: it reads their labels out of a
// CSV file, and finds all that is wrong with it, with line and column.
//
// The stages of the data, in order: the header says what rows name (columns.go), a
// row becomes a Label with texts (read.go), and once all texts are known, what kind
// of labels they are, and what each is worth (kinds.go, levels.go).
package labels
