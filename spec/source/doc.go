// Package source decides what a YAML file says and where it says it.
//
// It turns text into a tree of its own in which every value knows its place, decodes such a tree strictly into Go
// structs, describes the same structs as a JSON Schema, and reports every fault at once, each with its source line,
// a caret and a hint. It is the only importer of yaml.v3, whose own decoding silently turns 1.5 into 1, 010 into 8,
// drops null items and ignores a second document.
//
// The stages, in order: File, Parse (characters, syntax, limits, tree), Decode or Schema, Faults.
package source
