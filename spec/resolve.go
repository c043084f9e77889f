package spec

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// resolveAll makes all configurations of a suite. Where there are too many it makes none, which would take long.
func (l *loader) resolveAll(s *Suite) (all []Resolved) {
	if len(s.Configurations) > maxCombinations {
		l.fault(s.Tree.Get("configurations").Items[maxCombinations], "", "a suite may have %s configurations", thousands(maxCombinations))
		return nil
	}
	for i := range s.Configurations {
		if c := &s.Configurations[i]; l.checkSet(c) {
			all = append(all, l.resolve(c)...)
		}
	}
	return all
}

// resolve spreads a configuration: one loop for each combination of its sweep.
func (l *loader) resolve(c *Configuration) []Resolved {
	file := l.loopFile(c.Node.Get("loop"), l.doc.folder)
	if file == nil || file.tree == nil {
		return nil
	}
	base := settingsOf(c.Node.Get("set"))
	sweep := sweepOf(c.Node.Get("sweep"))
	at := c.Node.Get("sweep")
	if at == nil {
		at = c.Node
	}
	if !l.affordsConfigurations(at, combinations(sweep), file) {
		return nil
	}
	if len(sweep) == 0 {
		return l.resolved(file, c.Name, base)
	}
	return l.spread(file, c.Name, base, sweep)
}

// resolved makes one configuration.
func (l *loader) resolved(file *loopFile, name string, settings []setting) []Resolved {
	settings = append(settings[:len(settings):len(settings)], l.flags...)
	loop := l.instance(file, settings)
	if loop == nil {
		return nil
	}
	return []Resolved{{Name: name, Loop: loop, Params: paramsOf(settings), Hash: loop.hash}}
}

// paramsOf are the parameters by full path; of those set twice, by a file and by a flag, the last value holds.
func paramsOf(settings []setting) []Param {
	var params []Param
	for _, s := range settings {
		p := Param{Path: FullPath(s.path), Value: plainValue(s.value)}
		if i := slices.IndexFunc(params, func(known Param) bool { return known.Path == p.Path }); i >= 0 {
			params[i] = p
			continue
		}
		params = append(params, p)
	}
	return params
}

// FullPath undoes the short forms of a path: max_iterations, and what stands below terminate.any.
func FullPath(path string) string {
	if path == "max_iterations" {
		return "terminate." + path
	}
	if rest, ok := strings.CutPrefix(path, "terminate.any."); ok {
		return "terminate." + rest
	}
	return path
}

// plainValue keeps whole numbers whole, as counters are in expressions.
func plainValue(n *source.Node) any {
	switch v := n.Plain().(type) {
	case []any, *source.Object:
		return valueOf(v)
	default:
		return v
	}
}

func settingsOf(n *source.Node) []setting {
	if n == nil {
		return nil
	}
	settings := make([]setting, len(n.Entries))
	for i, entry := range n.Entries {
		settings[i] = setting{path: entry.Key, at: entry.KeyPos, value: entry.Value}
	}
	return settings
}

// joinEqual keeps the first of the configurations that are equal, under all their names.
func joinEqual(all []Resolved) []Resolved {
	var kept []Resolved
	index := map[string]int{}
	for _, r := range all {
		if i, ok := index[r.Hash]; ok {
			kept[i].Aliases = append(kept[i].Aliases, r.Name)
			continue
		}
		index[r.Hash] = len(kept)
		kept = append(kept, r)
	}
	return kept
}

// Configuration finds a configuration by its name or an alias; nil if there is none.
func (s *Suite) Configuration(name string) *Resolved {
	for i := range s.Resolved {
		if s.Resolved[i].goesBy(name) {
			return &s.Resolved[i]
		}
	}
	return nil
}

func (r *Resolved) goesBy(name string) bool {
	return r.Name == name || slices.Contains(r.Aliases, name)
}
