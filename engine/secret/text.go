package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	userOfAddress = regexp.MustCompile(`(?://(?:[^\s/@:"']*:)?|…)([^\s/@:"']+)@`)
	// namedValue is a header with its value, or a word that names nothing but a
	// secret.
	namedValue = regexp.MustCompile(`(?i)((?:\w+-)+\w+|authorization|cookie|api_?key|password)["']?[:=]\s*\[?["']?([^"',}\]\n]+)`)
	parameter  = regexp.MustCompile(`[?&;#]([^=?&;\s"'#]+)=([^&;\s"'#]+)`)
	// quoted is a text in quotes, which may be one word of a program.
	quoted = regexp.MustCompile(`"([^"\n]*)"|'([^'\n]*)'`)
	// variables are what stands where names of variables belong: one, a list or a mapping.
	variables = regexp.MustCompile(`\b(?:api_key_)?env["']?:[ \t]*(?:\n[ \t]*-[ \t]+)?(\[[^\]\n]*|\{[^}\n]*|"[^"\n]*|'[^'\n]*|[^,}\]\n]*)`)
)

// OfText are what may be the secrets of a suite that could not be loaded, in a
// part of its text: messages show its lines.
func OfText(text string) []string {
	values := ofAddresses(text)
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`"',[]{}`, c) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "-" || strings.HasSuffix(word, ":") })
	values = append(values, OfArguments(words)...)
	for _, found := range quoted.FindAllStringSubmatch(text, -1) {
		values = append(values, OfArguments([]string{found[1] + found[2]})...)
	}
	for _, found := range variables.FindAllStringSubmatch(text, -1) {
		for entry := range strings.SplitSeq(found[1], ",") {
			name, held, isPair := strings.Cut(entry, ": ")
			if !isPair {
				held = name
			}
			if held = strings.Trim(held, "[]{}\"' \t"); held != "" {
				values = append(values, notVariables(held)...)
			}
		}
	}
	for _, found := range namedValue.FindAllStringSubmatch(text, -1) {
		if Telling(found[1]) {
			values = append(values, strings.TrimSpace(found[2]))
		}
	}
	return once(values)
}

// ofAddresses are the users and parameters of addresses anywhere in a text.
func ofAddresses(text string) []string {
	var values []string
	for _, found := range userOfAddress.FindAllStringSubmatch(text, -1) {
		values = append(values, found[1])
	}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		if name, err := url.QueryUnescape(found[1]); err != nil || tellingParameter(name) {
			values = append(values, found[2])
		}
	}
	return values
}
