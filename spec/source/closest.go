package source

import "strings"

// Closest returns the word that the misspelt one is most likely to mean, "" when none is near: at most a third of
// its letters (but at least one) may be wrong, missing, too many or swapped (optimal string alignment distance).
func Closest(word string, words []string) string {
	best, bestDistance := "", max(1, runes(word)/3)+1
	for _, candidate := range words {
		if normal(word) == normal(candidate) {
			return candidate
		}
		if tooFar := runes(word)-runes(candidate) >= bestDistance; tooFar {
			continue
		}
		if d := distance([]rune(normal(word)), []rune(normal(candidate))); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// normal makes Max-Iterations and max_iterations the same.
func normal(word string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
}

// distance keeps three rows of the table of distances between prefixes of a and b.
func distance(a, b []rune) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := above[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(above[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
