package tune

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// Target is what --apply changes: a configuration of a suite, or the file of a loop.
type Target struct {
	Name  string         // of the configuration
	Suite *spec.Document // nil where Loop is not
	Loop  *spec.Document // nil: the suite is changed
	Path  string         // of the suite or of the loop, as messages name it
	// OfLog means that the runs come from the log of another tool, which has limits alone: any
	// loop may take them.
	OfLog bool
}

// AppliesTo refuses a loop file whose loop differs from the tuned one in more than the
// parameters that are tried or set, and what belongs to the same condition.
func (c *Target) AppliesTo(today *spec.Loop, set []spec.Assignment, axes []sweep.Axis) error {
	if c.Loop == nil {
		return nil
	}
	var changing []string
	for i := range axes {
		changing = append(changing, axes[i].Path)
	}
	for _, s := range set {
		changing = append(changing, s.Path)
	}
	for i, path := range changing {
		parts := strings.Split(spec.FullPath(path), ".")
		changing[i] = strings.Join(parts[:min(2, len(parts))], ".") + "."
	}
	others := func(l *spec.Loop) []spec.Value {
		return slices.DeleteFunc(l.Values(), func(v spec.Value) bool {
			return slices.ContainsFunc(changing, func(prefix string) bool { return strings.HasPrefix(v.Path+".", prefix) })
		})
	}
	if !reflect.DeepEqual(others(c.Loop.Loop), others(today)) {
		return exit.Usage("--apply alone changes the files of the suite", "--apply: the loop in %s is not that of %s", c.Path, page.Visible(c.Name))
	}
	return nil
}

// Files are the files with the values of a candidate, which is recommended; unchanged says why
// there is nothing to change.
func (c *Target) Files(tuned *Tuning, candidate *sweep.Candidate, set []spec.Assignment, axes []sweep.Axis) (files []spec.Edited, unchanged string, err error) {
	ofLog := c.Loop != nil && c.OfLog
	params := candidate.Assignments(set, axes)
	if tuned.Unchanged && ofLog { // a limit that the log did not have is no advice to drop it
		params = slices.DeleteFunc(params, func(a spec.Assignment) bool { return a.Text() == "off" })
	}
	if tuned.Unchanged && (!ofLog || len(params) == 0) {
		return nil, page.Visible(c.Name) + " is what is recommended", nil
	}
	var known *spec.Loop
	var where string
	if c.Loop != nil {
		known, where = c.Loop.Loop, "the loop in "+c.Path
	} else {
		known, where = c.Suite.Suite.Configuration(c.Name).Loop, "the configuration "+page.Visible(c.Name)+" of "+c.Path
	}
	if loop, faults := known.With(params...); ofLog && loop == nil {
		return nil, "", faults
	} else if !ofLog && (loop == nil || !reflect.DeepEqual(loop.Values(), candidate.Declared().Values())) {
		return nil, "", exit.Usage("record it again, or edit the values by hand", "--apply: %s is not the one that was recorded", where)
	}
	files, err = cmp.Or(c.Loop, c.Suite).Edit(c.Name, params...)
	if err == nil && len(files) == 0 {
		unchanged = where + " has these values already"
	}
	return files, unchanged, err
}
