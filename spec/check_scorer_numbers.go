package spec

// checkBounds wants some that can be kept.
func (l *loader) checkBounds(scorer *Scorer) {
	switch {
	case scorer.Min == nil && scorer.Max == nil && scorer.Equals == nil:
		l.fault(scorer.Node, "", "a scorer of type %s needs min, max or equals", scorer.Type)
	case scorer.Equals != nil && (scorer.Min != nil || scorer.Max != nil):
		l.add(scorer.Node.KeyFault("equals", "", "equals stands alone, without min and max"))
	case scorer.Min != nil && scorer.Max != nil && *scorer.Min > *scorer.Max:
		l.add(scorer.Node.KeyFault("min", "", "min %d is above max %d", *scorer.Min, *scorer.Max))
	}
}

// checkAmount wants what an amount is held against.
func (l *loader) checkAmount(scorer *Scorer) {
	if (scorer.AtMost == nil) == (scorer.Range == nil) {
		l.fault(scorer.Node, "at_most: 10 gives 1 or 0; range: [60, 5] gives 0 at 60 and beyond, 1 at 5 and below",
			"a scorer of type %s needs one of at_most and range", scorer.Type)
	}
}

// checkRange wants two ends that are not the same.
func (l *loader) checkRange(scorer *Scorer) {
	n := scorer.Node.Get("range")
	switch {
	case n == nil || len(scorer.Range) < 2:
	case len(scorer.Range) > 2:
		l.fault(n, "write [what is worth 0, what is worth 1]", "want 2 numbers, got %d", len(scorer.Range))
	case scorer.Range[0] == scorer.Range[1]:
		l.fault(n, "write [what is worth 0, what is worth 1]", "both ends of the range are the same")
	case scorer.Range[1]-scorer.Range[0] > maxSpan || scorer.Range[0]-scorer.Range[1] > maxSpan:
		l.fault(n, "", "the ends of the range are too far apart")
	case scorer.Choices != nil:
		l.add(scorer.Node.KeyFault("range", "choices say themselves what each is worth", "want one of choices and range"))
	}
}

// maxSpan is how far the ends of a range may be apart: half of what fits into a number.
const maxSpan = 1e300
