package scorers

// iterations judges how many iterations there were.
func iterations(c *compiler) comparison {
	return c.amount(func(s *subject) (float64, string) { return float64(s.seen), "" })
}
