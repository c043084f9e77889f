package scorers

// modelCalls judges how many calls of models the run made up to the iteration.
func modelCalls(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) {
		used := s.used()
		if used.Unreported > 0 {
			return 0, "the calls are unknown: a program did not say what it used"
		}
		return float64(used.Calls), ""
	})
}
