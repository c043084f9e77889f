package secret

import (
	"regexp"
	"strings"
)

var (
	userOfAddress = regexp.MustCompile(`(?://(?:[^\s/@:"']*:)?|…)([^\s/@:"']+)@`)
	// namedValue is a header with its value, or a word that names nothing but a
	// secret.
	namedValue = regexp.MustCompile(`(?i)((?:\w+-)+\w+|authorization|cookie|api_?key|password)["']?[:=]\s*\[?["']?([^"',}\]\n]+)`)
)

// OfText are what may be the secrets of a suite that could not be loaded, in a
// part of its text: messages show its lines.
func OfText(text string) []string {
	var values []string
	for _, found := range userOfAddress.FindAllStringSubmatch(text, -1) {
		values = append(values, found[1])
	}
	for _, found := range namedValue.FindAllStringSubmatch(text, -1) {
		if Telling(found[1]) {
			values = append(values, strings.TrimSpace(found[2]))
		}
	}
	return values
}
