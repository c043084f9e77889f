package main

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// alike refuses two parts that are not of one suite, made and dealt in one way.
func alike(one, other *record.Part) error {
	lines, err := partDifferences(&one.Manifest, &other.Manifest)
	if err != nil {
		return fail(notMeasured, "", "comparing the specs: %w", err)
	}
	if len(lines) > 0 {
		what := strings.Join(append([]string{fmt.Sprintf("%s and %s do not belong together:", one.Dir, other.Dir)}, fewest(lines)...), "\n  ")
		return fail(wrongSpec, "shards are of one suite, with one seed, the same data and one version of agentbench", "%s", what)
	}
	s, t := one.Manifest.Volatile.Shards, other.Manifest.Volatile.Shards
	switch {
	case s.Of != t.Of:
		return usage("deal a suite in one way", "%s is one of %d shards, %s one of %d", one.Dir, s.Of, other.Dir, t.Of)
	case s.Deal != t.Deal || s.By != t.By:
		return usage("give all shards the same --task, --limit and --shard-weights", "the tasks of %s and %s were dealt otherwise: by %s of %s, by %s of %s",
			one.Dir, other.Dir, s.By, count(s.Tasks, "task", "tasks"), t.By, count(t.Tasks, "task", "tasks"))
	}
	return nil
}

// partDifferences says in a line each what differs between the manifests of two
// parts, and may not.
func partDifferences(one, other *record.Manifest) ([]string, error) {
	var all differences
	all.compare("suite", one.Suite, other.Suite)
	all.compare("agentbench", one.Agentbench, other.Agentbench)
	all.compare("trials", one.Trials, other.Trials)
	all.compare("configurations", strings.Join(headNames(one), ", "), strings.Join(headNames(other), ", "))
	lines := all.lines()
	if one.SpecHash == other.SpecHash {
		return lines, nil
	}
	within, err := specDifferences(one, other)
	for _, line := range within.lines() {
		if !strings.HasPrefix(line, "suite:") { // told already
			lines = append(lines, line)
		}
	}
	return lines, err
}

func headNames(m *record.Manifest) []string {
	names := make([]string, len(m.Configurations))
	for i := range m.Configurations {
		names[i] = m.Configurations[i].Name
	}
	return names
}

// fewest are the first of many lines.
func fewest(lines []string) []string {
	if more := len(lines) - mostDifferences; more > 0 {
		return append(lines[:mostDifferences:mostDifferences], "and "+count(more, "more difference", "more differences"))
	}
	return lines
}
