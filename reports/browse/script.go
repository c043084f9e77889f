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
var scriptFiles = []string{"elements", "source", "runs", "filter", "address", "list", "run", "keys", "start", "live"}

// Script is the whole script. Nothing of it is to be seen from outside.
func Script() (string, error) {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scriptFiles {
		text, err := scripts.ReadFile("script/" + name + ".js")
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	all.WriteString("})();\n")
	return all.String(), nil
}
