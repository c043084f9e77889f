package spec

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// didYouMean is the hint that names the closest of the known words, or all of a few.
func didYouMean(word string, known []string) string {
	if closest := source.Closest(word, known); closest != "" {
		return fmt.Sprintf("did you mean %q?", closest)
	}
	return knownNames(known)
}

const fewNames = 12

// knownNames lists the names that there are.
func knownNames(known []string) string {
	switch {
	case len(known) == 0 || len(known) > fewNames:
		return ""
	case len(known) == 1:
		return "there is only " + known[0]
	}
	return "there are " + strings.Join(known[:len(known)-1], ", ") + " and " + known[len(known)-1]
}

const longName = 60 // runes of a name that a message repeats

func shorten(name string) string {
	if runes := []rune(name); len(runes) > longName {
		return string(runes[:longName]) + "..."
	}
	return name
}
