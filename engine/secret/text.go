package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	userOfAddress = regexp.MustCompile(`(?://(?:[^\s/@:"']*:)?|…)([^\s/@:"']+)@`)
	// namedValue is a header with its value, or a word that names nothing but a
	// secret.
	namedValue = regexp.MustCompile(`(?i)((?:\w+-)+\w+|authorization|cookie|api_?key|password)["']?[:=]\s*\[?["']?([^"',}\]\n]+)`)
	parameter  = regexp.MustCompile(`[?&;]([^=?&;\s"'#]+)=([^&;\s"'#]+)`)
	// argument is a flag with its value, as words of a list in one line or in two,
	// or of a shell.
	argument = regexp.MustCompile(`(?:^|[\s"',\[])--?([A-Za-z][\w.-]*)(?:=|["']?\s*,\s*|["']?[ \t]*\n[ \t]*-[ \t]+|[ \t]+)["']?([^-\s"',\]][^\s"',\]]*)`)
)

// OfText are what may be the secrets of a suite that could not be loaded, in a
// part of its text: messages show its lines.
func OfText(text string) []string {
	var values []string
	for _, found := range userOfAddress.FindAllStringSubmatch(text, -1) {
		values = append(values, found[1])
	}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		if name, err := url.QueryUnescape(found[1]); err != nil || tellingParameter(name) {
			values = append(values, found[2])
		}
	}
	for _, found := range argument.FindAllStringSubmatch(text, -1) {
		if telling(found[1]) {
			values = append(values, found[2])
		}
	}
	for _, found := range namedValue.FindAllStringSubmatch(text, -1) {
		if Telling(found[1]) {
			values = append(values, strings.TrimSpace(found[2]))
		}
	}
	return slices.Compact(values) // two of the patterns may find the same
}
