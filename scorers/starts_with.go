package scorers

import (
	"strings"
	"unicode"
)

// startsWith holds where the value starts with one of the texts looked for; white space before it does not count.
func startsWith(c *compiler) comparison {
	starts := func(got, want string) bool {
		return strings.HasPrefix(strings.TrimLeftFunc(got, unicode.IsSpace), want)
	}
	return c.lookFor(starts, func(texts, found []string, got string) verdict {
		return hit(len(found) > 0, "one of "+strings.Join(texts, ", "), got)
	})
}
