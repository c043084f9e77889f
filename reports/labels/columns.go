package labels

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// names are the columns that mean something; others are left alone.
var names = []string{"run", "configuration", "task", "trial", "output", "label", "label2"}

// columns are where the columns of a file stand; -1: it has none of that name.
type columns map[string]int

// headed reads the header.
func (f *File) headed(header []cell) (columns, source.Faults) {
	c := columns{}
	var faults source.Faults
	for _, name := range names {
		c[name] = -1
	}
	for i, head := range header {
		name := strings.ToLower(strings.TrimSpace(head.text))
		if at, known := c[name]; known && at >= 0 {
			faults = append(faults, f.fault(head, "", "there are two columns %q", name))
		} else if known {
			c[name] = i
		}
	}
	return c, append(faults, f.missing(c, header)...)
}

// missing are the columns that a file cannot do without.
func (f *File) missing(c columns, header []cell) (faults source.Faults) {
	f.Texts = !c.has("run") && !c.has("configuration") && c.has("output")
	f.Second = c.has("label2")
	if !c.has("label") {
		faults = append(faults, f.fault(header[0], likely("label", header), "there is no column \"label\""))
	}
	if !c.has("run") && !(c.has("task") && (c.has("configuration") || c.has("output"))) {
		faults = append(faults, f.fault(header[0], "the header is run,label or configuration,task,trial,label or task,output,label", "no columns say what is labelled"))
	}
	return faults
}

// likely is a hint at the column that may have been meant.
func likely(name string, header []cell) string {
	var heads []string
	for _, head := range header {
		if head := strings.ToLower(strings.TrimSpace(head.text)); !slices.Contains(names, head) {
			heads = append(heads, head)
		}
	}
	if closest := source.Closest(name, heads); closest != "" {
		return "is it " + closest + "?"
	}
	return "the first line of the file names its columns"
}

func (c columns) has(name string) bool { return c[name] >= 0 }

// of is the cell of a row in a column; an empty one where the file has no such
// column.
func (c columns) of(row []cell, name string) cell {
	if at := c[name]; at >= 0 && at < len(row) {
		return row[at]
	}
	return cell{}
}
