package scorers

// latency judges how long the run took up to the end of the iteration, in seconds: its calls, and what was waited for
// them, as if nothing had come from a cache.
func latency(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) {
		took := s.run.Elapsed
		if s.seen < len(s.run.Iterations) {
			took = s.run.Iterations[s.seen-1].End
		}
		if took <= 0 {
			return 0, "the record has no times"
		}
		return took.Seconds(), ""
	})
}
