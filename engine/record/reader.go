package record

import "iter"

func ReadRuns(dir string) iter.Seq2[*Run, error]        { panic("not yet") }
func ReadSignals(dir string) iter.Seq2[*Signals, error] { panic("not yet") }
func ReadScores(dir string) iter.Seq2[Score, error]     { panic("not yet") }
func Find(dir, run string) (*Run, error)                { panic("not yet") }
