package scorers

import (
	"context"
	"strings"
)

// wordCount holds where the value has so many words: what stands between white space, in any script.
func wordCount(c *compiler) comparison {
	within := c.within()
	return func(_ context.Context, s *subject) verdict { return within(len(strings.Fields(text(s.value)))) }
}
