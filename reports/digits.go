package reports

// scoreDigits is how many digits of a score mean something to the reader.
func (r *Report) scoreDigits() int {
	for i := range r.Configurations {
		if r.Configurations[i].Runs >= 100 {
			return 3
		}
	}
	return 2
}

func (r *Report) dollarDigits() int {
	return dollarDigits(func(yield func(Value) bool) {
		for c := range r.each() {
			if !yield(c.Cost.Mean) {
				return
			}
		}
	})
}

func (r *Report) dollars(v Value) string { return dollars(v, r.dollarDigits()) }

func (r *Report) extraDollars(v Value) string { return extraDollars(v, r.dollarDigits()) }
