package record

import "time"

type Journal struct{}
type Options struct{ Delay time.Duration }
type Recovered struct {
	Manifest Manifest
	Finished map[string]struct{}
	Unscored []string
	Rebuilt  int
	Problems []*Problem
}

func Create(dir string, m Manifest, options Options) (*Journal, error)             { panic("not yet") }
func Resume(dir string, options Options) (*Journal, *Recovered, error)             { panic("not yet") }
func (j *Journal) Append(run *Run, scores []Score, done func(error)) error         { panic("not yet") }
func (j *Journal) AppendScores(run string, scores []Score, done func(error)) error { panic("not yet") }
func (j *Journal) WriteManifest(m Manifest) error                                  { panic("not yet") }
func (j *Journal) Close() error                                                    { panic("not yet") }
