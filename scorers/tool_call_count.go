package scorers

import (
	"context"
	"fmt"
)

// toolCallCount holds where so many calls were made, of the tools declared or of all.
func toolCallCount(c *compiler) comparison {
	counted, within := c.counted(), c.within()
	return func(_ context.Context, s *subject) verdict { return within(len(counted(s))) }
}

// within judges a number by the bounds declared.
func (c *compiler) within() func(n int) verdict {
	least, most, exactly := c.spec.Min, c.spec.Max, c.spec.Equals
	if least == nil && most == nil && exactly == nil {
		c.fault("", "a scorer of type %s needs min, max or equals", c.spec.Type)
	}
	return func(n int) verdict {
		v := verdict{value: 1, answer: fmt.Sprint(n)}
		switch {
		case exactly != nil && n != *exactly:
			v.value, v.explanation = 0, fmt.Sprintf("want %d, got %d", *exactly, n)
		case least != nil && n < *least:
			v.value, v.explanation = 0, fmt.Sprintf("want at least %d, got %d", *least, n)
		case most != nil && n > *most:
			v.value, v.explanation = 0, fmt.Sprintf("want at most %d, got %d", *most, n)
		}
		return v
	}
}
