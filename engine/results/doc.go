// Package recorded opens result folders for replay: the loops under which runs
// were recorded, and the runs with their tasks and scores.
//
// The stages of the data, in order: Open reads the manifest, whose resolved spec
// becomes a suite again (suite.go, files.go); Tasks come from the suite that the
// user names, from the folder, or from the manifest (tasks.go); Read reads runs
// as records or, where no text is needed, as signals (read.go), and what they
// were worth (scores.go). What cannot be used is counted in Notes, never
// silently left out.
package results
