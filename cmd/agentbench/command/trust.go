package command

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// foreign is what judging recorded runs starts and calls, a line each. Where only their folder names it, it may be a stranger's.
type foreign []string

func (all *foreign) add(line string) {
	if !slices.Contains(*all, line) {
		*all = append(*all, line)
	}
}

func (all *foreign) run(argv []string) {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = exit.ShellWord(word)
	}
	all.add("run " + page.Visible(strings.Join(words, " ")))
}

// call adds a host, and the environment variables that it is sent.
func (all *foreign) call(address string, keys ...string) {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	text := "call " + address
	if len(keys) > 0 {
		text += " with $" + strings.Join(keys, " and $")
	}
	all.add(page.Visible(text))
}

// scorer adds what a scorer of a suite starts and calls, with its parts.
func (all *foreign) scorer(suite *spec.Suite, scorer *spec.Scorer) {
	for part := range scorer.MadeOf(suite.Scorers) {
		if len(part.Command) > 0 {
			all.run(part.Command)
		}
		if part.URL != "" {
			var keys []string
			for _, header := range part.Headers {
				if header.Value.Env != "" {
					keys = append(keys, header.Value.Env)
				}
			}
			all.call(part.URL, keys...)
		}
		for _, model := range suite.Models {
			if server, is := model.Value.Server(); is && (model.Key == part.Model || slices.Contains(part.Models, model.Key)) {
				all.call(cmp.Or(server.BaseURL, server.Provider), server.KeyEnv)
			}
		}
	}
}

// evaluation adds what evaluates the states of a loop's workspaces. One that takes more than the state is never made of one.
func (all *foreign) evaluation(l *spec.Loop) {
	if l.Workspace == nil || l.Evaluate == nil || l.Evaluate.Elsewhere() != "" {
		return
	}
	for _, command := range []*spec.Command{l.Evaluate.Command, l.Evaluate.Test} {
		if command != nil {
			all.run(command.Argv)
		}
	}
}

// refused refuses what there is, all of it.
func (all foreign) refused(hint, doing, dir string) error {
	if len(all) == 0 {
		return nil
	}
	return exit.Usage(hint, "%s %s would\n  %s", doing, dir, strings.Join(all, "\n  "))
}
