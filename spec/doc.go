// Package spec decides what a suite or a loop file means: it loads the YAML with all files that it names, applies the
// presets, spreads configurations and sweeps, compiles every expression in the environment of its place, and reports
// all faults of all files at once, each where it stands.
//
// The stages, in order: read (files.go), decode (the types, one file for each concept), set (parameters on the tree),
// preset, compile, check, resolve. Tasks are streamed from their files when they are asked for.
package spec
