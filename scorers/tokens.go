package scorers

// tokens judges how many tokens the run took up to the iteration, input and output together.
func tokens(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) {
		used := s.used()
		if !used.TokensTold() {
			return 0, "the tokens are unknown: not every call said what it used"
		}
		return float64(used.Tokens()), ""
	})
}
