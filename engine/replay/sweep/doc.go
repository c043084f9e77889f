// Package sweep replays many configurations on recorded runs at once: what each
// of them would have made of every run, and the sums over all runs or parts of
// them. Like package replay it makes no call and reads no file.
//
// The stages of the data, in order: a Recording is the runs of one recorded
// configuration with their scores; a Candidate is a loop to be tried on them;
// a Sweep holds candidates against recordings and answers with an Outcome for
// each run, or with Totals for parts of the runs. Totals of candidates that
// differ only in when they stop come from bit sets, of all others from Outcomes;
// they are the same numbers either way, and a test says so.
package sweep
