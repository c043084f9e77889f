package scorers

// latency judges how long the run took up to the end of the iteration, in seconds: its calls, and what was waited for
// them, as if nothing had come from a cache.
func latency(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) {
		took, untimed := s.run.Elapsed, s.run.Untimed
		if s.seen < len(s.run.Iterations) {
			took, untimed = s.run.Iterations[s.seen-1].End, s.run.Iterations[s.seen-1].Untimed
		}
		if took <= 0 || untimed {
			return 0, "the record has no times"
		}
		return took.Seconds(), ""
	})
}
