package browse

import (
	"embed"
	"strings"
)

//go:embed script/*.js
var scripts embed.FS

// Style is that of what the script shows.
//
//go:embed script/browse.css
var Style string

// scriptFiles are the parts of the script, in the order in which they need each other.
var scriptFiles = []string{
	"elements", "source", "runs", "filter", "address", "copies", "texts", "difference", "bar", "list", "map", "run", "compare", "label", "keys", "start", "live",
}

// Script is the whole script. Nothing of it is to be seen from outside. Pages have it without
// its comments and the white space around its lines, which no text of it spans.
func Script() (string, error) {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scriptFiles {
		text, err := scripts.ReadFile("script/" + name + ".js")
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if code, _, commented := strings.Cut(line, "; // "); commented {
				line = code + ";"
			}
			if line != "" && !strings.HasPrefix(line, "//") {
				all.WriteString(line + "\n")
			}
		}
	}
	all.WriteString("})();\n")
	return all.String(), nil
}
