package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// Change is a place at which the specs of two results differ; "" is what is not there.
type Change struct {
	Path, Base, New string
	Declared        bool // it is meant to differ
}

// Couples are the names of the configurations of two places that are compared: of the
// base, and of the new one.
func Couples(base, newest *Place) (all [][2]string) {
	olds, news := base.Heads(), newest.Heads()
	if base.Configuration != "" && newest.Configuration != "" || len(olds) == 1 && len(news) == 1 {
		return [][2]string{{olds[0].Name, news[0].Name}}
	}
	for _, n := range news {
		at := slices.IndexFunc(olds, func(b *record.ConfigurationHead) bool {
			return slices.ContainsFunc(append([]string{n.Name}, n.Aliases...), b.Called)
		})
		if at >= 0 {
			all = append(all, [2]string{olds[at].Name, n.Name})
		}
	}
	return all
}

// Changes are the differences between the specs of two places, of the configurations
// that are compared. They are declared by the paths that vary, and where the user named
// two configurations, by that.
func Changes(base, newest *Place, vary []string) (all []Change, err error) {
	specs, unknown, err := bindings(base, newest)
	switch {
	case err != nil:
		return nil, err
	case unknown != nil:
		return []Change{{Path: "suite", New: "the spec of " + unknown.Text + " is not known"}}, nil
	}
	add := func(d Differences, declared func(path string) bool) {
		for i := range d {
			was, is := d[i].Values()
			is = cmp.Or(d[i].What, is)
			all = append(all, Change{d[i].Path, was, is, declared(d[i].Path)})
		}
	}
	var d Differences
	d.Around(specs[0], specs[1])
	add(d, func(path string) bool { return varied(path, vary) })
	for _, c := range Couples(base, newest) {
		d = nil
		d.Loops(specs[0], specs[1], c[0], c[1])
		was, _ := base.Manifest.Configuration(c[0])
		is, _ := newest.Manifest.Configuration(c[1])
		d.Programs(was, is)
		add(d, func(path string) bool {
			return c[0] != c[1] || varied(path, vary) || varied(strings.TrimPrefix(path, "configurations."+c[1]+"."), vary)
		})
	}
	return all, nil
}

// bindings are those of two places; or the place of which it is not known how its results were made.
func bindings(base, newest *Place) (both [2]*Binding, unknown *Place, err error) {
	for i, side := range []*Place{base, newest} {
		if len(side.Manifest.Specs) == 0 {
			return both, side, nil
		}
		folder, err := Open(side.Results, nil)
		if err == nil {
			both[i], err = Writer{}.Binding(folder.Document.Suite, &side.Manifest)
		}
		if err != nil {
			return both, nil, exit.With(exit.NotMeasured, "", "comparing the specs: %s: %w", side.Text, err)
		}
	}
	return both, nil, nil
}

// UnknownPath is a path that no spec has.
type UnknownPath struct {
	Path string
	Hint string
}

func (e *UnknownPath) Error() string {
	return fmt.Sprintf("--vary %s: neither spec has such a path", e.Path)
}

// Unknown are the paths that neither spec has: a slip of the pen would declare nothing.
func Unknown(base, newest *Place, vary []string) (unknown []*UnknownPath, err error) {
	paths := map[string]bool{}
	specs, nobodyKnows, err := bindings(base, newest)
	if err != nil || nobodyKnows != nil {
		return nil, err
	}
	for i, side := range []*Place{base, newest} {
		specs[i].Paths(func(path string) { paths[path] = true })
		for i := range side.Manifest.Configurations {
			for program := range versions(&side.Manifest.Configurations[i]) {
				paths[programPath(side.Manifest.Configurations[i].Name, program)] = true
			}
		}
	}
	for _, path := range vary {
		if !paths[aliasOf(path)] {
			unknown = append(unknown, &UnknownPath{Path: path})
		}
	}
	if paths[aliasOf(shortMaximum)] {
		paths[shortMaximum] = true
	}
	known := slices.Sorted(maps.Keys(paths))
	for _, u := range unknown {
		u.Hint = exit.DidYouMean(u.Path, known, "the table spec lists the paths that differ")
	}
	return unknown, nil
}

// shortMaximum is the short form of a path, the only one.
const shortMaximum = "max_iterations"

func aliasOf(path string) string {
	if path == shortMaximum {
		return "terminate.max_iterations"
	}
	return path
}

// varied reports whether a path, or one that it lies below, is declared.
func varied(path string, vary []string) bool {
	return slices.ContainsFunc(vary, func(declared string) bool {
		declared = aliasOf(declared)
		return path == declared || strings.HasPrefix(path, declared+".")
	})
}
