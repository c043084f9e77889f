package scorers

import "strings"

// containsAny holds where one of the texts looked for stands in the value.
func containsAny(c *compiler) comparison {
	return c.lookFor(strings.Contains, func(texts, found []string, _ string) verdict {
		if len(found) > 0 {
			return verdict{value: 1}
		}
		return verdict{explanation: short("none of these is in it: "+strings.Join(texts, ", "), maxAnswer)}
	})
}
