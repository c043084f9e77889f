package main

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"
)

// again is the command that goes on with a job where it was stopped.
func (j *job) again() string {
	words := []string{"agentbench", cmp.Or(j.command, "run"), j.path}
	j.flags.all.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "out", "force", "events":
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.NoOptDefVal == value { // a switch
				words = append(words, "--"+f.Name)
			} else {
				words = append(words, "--"+f.Name, value)
			}
		}
	})
	words = append(words, "--out", j.dir)
	for i := range words {
		words[i] = shellWord(words[i])
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word where a shell would not take it as it is.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
