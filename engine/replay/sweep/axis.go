package sweep

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Axis is a parameter with the values that are tried, in their order. It has
// Values, and the ends Between which more are observed: see [Axis.Observe].
type Axis struct {
	Path    string
	At      source.Pos // of the path, in the file of the values
	Values  []*source.Node
	Between []Ends
	// Observed is how many values were observed, where more than are tried.
	Observed int
}

// Ends are the least and the largest value of a parameter; durations are in
// seconds. Node is where they stand.
type Ends struct {
	From, To float64
	Node     *source.Node
}

// AxisOf is the axis of a parameter that a suite tunes.
func AxisOf(p *source.Pair[spec.TuneRange]) Axis {
	a := Axis{Path: p.Key, At: p.KeyPos}
	if p.Node.Kind == source.List {
		a.Values = p.Node.Items
		return a
	}
	a.Between = []Ends{{From: p.Value.From, To: p.Value.To, Node: p.Node}}
	return a
}

// AxisFrom reads path=a,b,c or path=from..to, or both as in path=1..9,off, which
// stands behind the flag of that name. Values are YAML, as in a list.
func AxisFrom(flag, text string) (Axis, source.Faults) {
	path, values, ok := strings.Cut(text, "=")
	if !ok || path == "" || strings.TrimSpace(values) == "" {
		shown := source.NewFile(flag, []byte(text))
		return Axis{}, source.Faults{{File: shown, Pos: source.Pos{Line: 1, Col: 1}, What: "want path=values",
			Hint: "for example " + flag + " terminate.max_iterations=2,4,8 or " + flag + " terminate.max_iterations=1..10"}}
	}
	list, faults := listed(flag, path, values)
	if faults.Err() != nil {
		return Axis{}, faults
	}
	a := Axis{Path: path, At: source.Pos{Line: 1, Col: 1}}
	for _, item := range list.Items {
		ends, fault := endsOf(item)
		switch {
		case fault != nil:
			return Axis{}, source.Faults{*fault}
		case ends != nil:
			a.Between = append(a.Between, *ends)
		default:
			a.Values = append(a.Values, item)
		}
	}
	return a, nil
}

// listed reads values as a list, in a text that is as long as the flag.
func listed(flag, path, values string) (*source.Node, source.Faults) {
	blank := strings.Repeat(" ", len([]rune(path)))
	list, faults := source.Parse(source.NewFile(flag, []byte(blank+"["+values+"]")))
	shown := source.NewFile(flag, []byte(path+"="+values))
	for i := range faults {
		faults[i].File = shown
	}
	if faults.Err() == nil {
		relocate(list, shown)
		if len(list.Items) == 0 {
			faults = source.Faults{list.Fault("", "no values for %s", path)}
		}
	}
	return list, faults
}

func relocate(n *source.Node, file *source.File) {
	n.File = file
	for _, item := range n.Items {
		relocate(item, file)
	}
	for _, entry := range n.Entries {
		relocate(entry.Value, file)
	}
}

// endsOf reads from..to; nil where a value is nothing like it.
func endsOf(n *source.Node) (*Ends, *source.Fault) {
	from, to, ok := strings.Cut(n.Text, "..")
	if !ok {
		return nil, nil
	}
	if strings.HasPrefix(to, ".") && otherRange.MatchString(n.Text) {
		return nil, nil
	}
	least, isLeast := Number(from)
	most, isMost := Number(to)
	if !isLeast || !isMost {
		return nil, nil
	}
	if least > most {
		fault := n.Fault("write the smaller one first", "want from below to, got %s", n.Text)
		return nil, &fault
	}
	return &Ends{From: least, To: most, Node: n}, nil
}

// Number reads a number, or a duration in seconds.
func Number(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, v-v == 0
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err == nil
}

// plainNumber keeps whole numbers whole.
func plainNumber(v float64) any {
	if whole := int64(v); float64(whole) == v {
		return whole
	}
	return v
}

// assignment sets one value.
func (a *Axis) assignment(value *source.Node) spec.Assignment {
	return spec.Assignment{Path: a.Path, At: a.At, Value: value}
}

// Words are the axis for people: what it has how many values of.
func (a *Axis) Words() string {
	if len(a.Values) == 1 {
		return a.Path + " has 1 value"
	}
	return fmt.Sprintf("%s has %s values", a.Path, Thousands(int64(len(a.Values))))
}

// Thousands is a whole number in groups of three digits.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// conflict says which parameter would get two values at once, "" where none does.
func conflict(set []spec.Assignment, axes []Axis) string {
	known := map[string]string{}
	for i := range set {
		path := spec.FullPath(set[i].Path)
		if known[path] != "" {
			return "the parameter " + set[i].Path + " is set twice"
		}
		known[path] = "set"
	}
	for i := range axes {
		path := spec.FullPath(axes[i].Path)
		switch known[path] {
		case "set":
			return "the parameter " + axes[i].Path + " is both set and swept"
		case "swept":
			return "the parameter " + axes[i].Path + " is swept twice"
		}
		known[path] = "swept"
	}
	return ""
}

// Probes are a loop with each of the values set by itself, or, where it needs
// another parameter of the sweep, beside it. The error is a source.Faults.
func Probes(l *spec.Loop, set []spec.Assignment, axes []Axis) ([]*spec.Loop, error) {
	base, faults := l.With(set...)
	if base == nil {
		return nil, faults
	}
	loops, faulty := []*spec.Loop{base}, source.Faults(nil)
	for i := range axes {
		found, wrong := axes[i].probes(Beside(base, axes, i))
		if wrong != nil {
			_, wrong = axes[i].probes(base)
		}
		loops, faulty = append(loops, found...), append(faulty, wrong...)
	}
	if err := faulty.Err(); err != nil {
		return nil, err
	}
	return loops, nil
}

// Beside is a loop that an axis can be probed in: the loop itself, or, where the
// axis needs another parameter of the sweep, the loop with a value of each other.
func Beside(base *spec.Loop, axes []Axis, which int) *spec.Loop {
	if _, err := axes[which].probes(base); err == nil {
		return base
	}
	for i := range axes {
		if i == which {
			continue
		}
		if found, _ := axes[i].probes(base); len(found) > 0 {
			base = found[0]
		}
	}
	return base
}

func (a *Axis) probes(base *spec.Loop) ([]*spec.Loop, source.Faults) {
	var loops []*spec.Loop
	for i := range a.Between {
		probed, faults := a.probed(base, &a.Between[i])
		if probed == nil {
			return nil, faults
		}
		loops = append(loops, probed...)
	}
	for _, value := range a.Values {
		probed, faults := base.With(a.assignment(value))
		if probed == nil {
			return nil, meantAsRange(faults, value.Text)
		}
		loops = append(loops, probed)
	}
	return loops, nil
}

// otherRange is how others write a range of numbers.
var otherRange = regexp.MustCompile(`^([0-9.]*[0-9][a-z]*)\s*(?:-|–|:|\.\.\.|…)\s*([0-9.]*[0-9][a-z]*)$`)

// meantAsRange says how a range is written where a value is refused that looks
// like one.
func meantAsRange(faults source.Faults, value string) source.Faults {
	m := otherRange.FindStringSubmatch(value)
	for i := range faults {
		if m != nil && faults[i].Hint == "" {
			faults[i].Hint = "a range is written " + m[1] + ".." + m[2]
		}
	}
	return faults
}
