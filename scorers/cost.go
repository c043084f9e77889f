package scorers

// cost judges what the run cost up to the iteration, in USD, as if nothing had come from a cache.
func cost(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) {
		used := s.used()
		switch {
		case used.Unpriced > 0:
			return 0, "the cost is unknown: a model has no price"
		case !used.Priced():
			return 0, "the cost is unknown: a program did not say what it used"
		}
		return used.Cost.Dollars(), ""
	})
}
