package page

import "fmt"

// Plural is a number of things: 1 run, 2 runs.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
