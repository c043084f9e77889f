// Package suites decides which suites ship with the program: a quickstart, and
// one for each pattern, for phases, for tools and for scorers. All of them run
// without a key and without a network. A suite is a folder with a suite.yaml and
// what it names.
//
// It is no stable API.
package suites

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed quickstart interview-analysis job-matching roadmap application resume-parsing phases tools summaries coding
var shipped embed.FS

// File is the name of the suite's file in its folder.
const File = "suite.yaml"

// Suite is a suite that ships.
type Suite struct {
	Name  string
	About string // one line
	FS    fs.FS  // its folder
}

// about has the suites in the order in which a newcomer would read them.
var about = []Suite{
	{Name: "quickstart", About: "one loop under three limits, with a simulated model"},
	{Name: "interview-analysis", About: "confidence: repeat until the feedback is complete"},
	{Name: "job-matching", About: "confidence: broaden or narrow a search"},
	{Name: "roadmap", About: "improvement: continue while a judge sees progress"},
	{Name: "application", About: "checklist: fix what fails until all fields are valid"},
	{Name: "resume-parsing", About: "multi_strategy: strategies take turns until one works"},
	{Name: "phases", About: "planning, execution and refinement under three sets of limits"},
	{Name: "tools", About: "an agent with programs, a server of tools and a lawyer to ask, under three limits of steps"},
	{Name: "coding", About: "a coding agent in workspaces of its own, under three limits of steps"},
	{Name: "summaries", About: "texts without one right answer: a panel of judges, a program and a set of scorers"},
}

// All are the suites that ship.
func All() []Suite {
	all := slices.Clone(about)
	for i := range all {
		all[i].FS = within(shipped, all[i].Name)
	}
	return all
}

// within is a folder of those that are embedded.
func within(all embed.FS, folder string) fs.FS {
	files, err := fs.Sub(all, folder)
	if err != nil { // the name is not a path
		panic(err)
	}
	return files
}

// found is the first that has a name.
func found[T any](all []T, is func(T) bool) (one T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return one, false
}

// Find gives the suite of that name.
func Find(name string) (Suite, bool) {
	return found(All(), func(s Suite) bool { return s.Name == name })
}

// Names are the names of the suites that ship.
func Names() []string {
	names := make([]string, len(about))
	for i := range about {
		names[i] = about[i].Name
	}
	return names
}
