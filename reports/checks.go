package reports

import "iter"

// checks are one for each task of each configuration.
func (r *Report) checks() iter.Seq[check] { return func(func(check) bool) {} }

// facts are the numbers of a configuration.
func (r *Report) facts(group string) []fact { return nil }
