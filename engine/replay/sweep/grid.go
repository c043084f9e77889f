package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// MostCandidates is how many configurations are tried at most. Each takes some 700
// bytes and 60 µs before a run is looked at.
const MostCandidates = 20_000

// Base is a recorded configuration that parameters are set in.
type Base struct {
	Name    string
	Aliases []string // equal configurations, which were recorded once
	Loop    *spec.Loop
}

// TooMany says that a grid has more configurations than are tried.
type TooMany struct {
	Count string // in groups of three digits
	// Widest are the axes in words, the one with the most values first.
	Widest []string
}

// Error has the count.
func (e *TooMany) Error() string {
	return fmt.Sprintf("the sweep has %s configurations; at most %s are tried", e.Count, spec.Thousands(MostCandidates))
}

// Hint says what to narrow.
func (e *TooMany) Hint() string { return "narrow it: " + strings.Join(e.Widest, ", ") }

// Grid is every combination of the values of the axes, in the order declared and
// the last axis changing fastest, in every base, each with the same parameters
// set before. Equal configurations are there once. The error is a source.Faults,
// or a *TooMany; nothing is made then.
func Grid(bases []Base, set []spec.Assignment, axes []Axis) ([]Candidate, error) {
	if what := conflict(set, axes); what != "" {
		return nil, errors.New(what)
	}
	if err := Affords(len(bases), axes); err != nil {
		return nil, err
	}
	var all []Candidate
	kinds := &kinds{}
	for i := range bases {
		made, err := grid(&bases[i], len(bases) > 1, set, axes, kinds)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return distinct(all), nil
}

// Affords refuses more combinations than are tried. An axis whose values are not
// observed yet counts as one.
func Affords(bases int, axes []Axis) error {
	n := big.NewInt(int64(bases))
	for i := range axes {
		n.Mul(n, big.NewInt(int64(max(1, len(axes[i].Values)))))
	}
	if n.Cmp(big.NewInt(MostCandidates)) <= 0 {
		return nil
	}
	sorted := slices.Clone(axes)
	slices.SortStableFunc(sorted, func(a, b Axis) int { return len(b.Values) - len(a.Values) })
	e := &TooMany{Count: spec.Thousands(n)}
	for i := range sorted {
		e.Widest = append(e.Widest, sorted[i].Words())
	}
	return e
}

// gridding is the grid of one base.
type gridding struct {
	base  *Base
	axes  []Axis
	set   []spec.Assignment
	names []string // of the parameters, those set first
	named bool     // candidates are told apart by the name of their base
	kinds *kinds
}

func grid(base *Base, named bool, set []spec.Assignment, axes []Axis, kinds *kinds) ([]Candidate, error) {
	g := &gridding{base: base, axes: axes, set: set, named: named, kinds: kinds}
	if err := g.name(); err != nil {
		return nil, err
	}
	n := 1
	for i := range axes {
		n *= len(axes[i].Values)
	}
	all, faults := make([]Candidate, n), make([]source.Faults, n)
	_ = Each(context.Background(), n, 1, func(i int) { all[i], faults[i] = g.candidate(i) }) // nothing stops it
	for _, fault := range faults {
		if fault != nil {
			return nil, fault
		}
	}
	return all, nil
}

// name finds what parameters are called, in a loop that has the first values.
func (g *gridding) name() error {
	first := slices.Clone(g.set)
	for i := range g.axes {
		first = append(first, g.axes[i].assignment(g.axes[i].Values[0]))
	}
	loop, faults := g.base.Loop.With(first...)
	if loop == nil {
		return faults
	}
	paths := make([]string, len(first))
	for i := range first {
		paths[i] = first[i].Path
	}
	g.names = loop.ShortNames(paths...)
	return nil
}

func (g *gridding) candidate(i int) (Candidate, source.Faults) {
	loop, faults := g.loop(i)
	if loop == nil {
		return Candidate{}, faults
	}
	assignments := g.assignments(i)
	made := Candidate{Name: g.nameOf(assignments), Params: spec.ParamsOf(assignments), of: g, at: i, hash: loop.Hash(), when: g.kinds.timing(loop)}
	if len(assignments) == 0 {
		made.Aliases = slices.Clone(g.base.Aliases)
	}
	if g.named {
		made.Base = g.base.Name
	}
	return made, nil
}

func (g *gridding) loop(i int) (*spec.Loop, source.Faults) {
	return g.base.Loop.With(g.assignments(i)...)
}

func (g *gridding) assignments(i int) []spec.Assignment {
	assignments := append(slices.Clone(g.set), make([]spec.Assignment, len(g.axes))...)
	for k := len(g.axes) - 1; k >= 0; k-- {
		a := &g.axes[k]
		assignments[len(g.set)+k] = a.assignment(a.Values[i%len(a.Values)])
		i /= len(a.Values)
	}
	return assignments
}

func (g *gridding) nameOf(assignments []spec.Assignment) string {
	parts := make([]string, len(assignments))
	for i := range assignments {
		parts[i] = g.names[i] + "=" + assignments[i].Text()
	}
	name := strings.Join(parts, ",")
	switch {
	case name == "":
		return g.base.Name
	case g.named:
		return g.base.Name + "@" + name
	}
	return name
}

// distinct keeps the first of the candidates that are equal, with the names of the others.
func distinct(all []Candidate) []Candidate {
	first, kept := map[string]int{}, all[:0]
	for _, c := range all {
		if at, known := first[c.Hash()]; known {
			kept[at].Aliases = append(append(kept[at].Aliases, c.Name), c.Aliases...)
			continue
		}
		first[c.Hash()] = len(kept)
		kept = append(kept, c)
	}
	return kept
}

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
		list.Relocate(shown)
		if len(list.Items) == 0 {
			faults = source.Faults{list.Fault("", "no values for %s", path)}
		}
	}
	return list, faults
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
		return nil, new(n.Fault("write the smaller one first", "want from below to, got %s", n.Text))
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

func (a *Axis) assignment(value *source.Node) spec.Assignment {
	return spec.Assignment{Path: a.Path, At: a.At, Value: value}
}

// Words are the axis for people: what it has how many values of.
func (a *Axis) Words() string {
	if len(a.Values) == 1 {
		return a.Path + " has 1 value"
	}
	return fmt.Sprintf("%s has %s values", a.Path, spec.Thousands(len(a.Values)))
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
// another parameter of the sweep, beside it; of numbers that only say when a run stops,
// one stands for all. The error is a source.Faults.
func Probes(l *spec.Loop, set []spec.Assignment, axes []Axis) ([]*spec.Loop, error) {
	base, faults := l.With(set...)
	if base == nil {
		return nil, faults
	}
	loops, faulty := []*spec.Loop{base}, source.Faults(nil)
	for i := range axes {
		_, found, wrong := beside(base, axes, i)
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
	loop, _, _ := beside(base, axes, which)
	return loop
}

// beside also gives the probes, or what is wrong with them in the base.
func beside(base *spec.Loop, axes []Axis, which int) (loop *spec.Loop, probes []*spec.Loop, faults source.Faults) {
	if probes, faults = axes[which].probes(base); faults == nil {
		return base, probes, nil
	}
	loop = base
	for i := range axes {
		if i == which {
			continue
		}
		if found, _ := axes[i].probes(loop); len(found) > 0 {
			loop = found[0]
		}
	}
	if found, wrong := axes[which].probes(loop); wrong == nil {
		return loop, found, nil
	}
	return loop, nil, faults
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
	var sized *replay.Limits // of the first one of which only the size counts
	for _, value := range a.Values {
		probed, faults := base.With(a.assignment(value))
		if probed == nil {
			return nil, meantAsRange(faults, value.Text)
		}
		if n, ok := Number(value.Text); ok && n > 0 && a.sizes() {
			switch {
			case sized == nil:
				sized = replay.NewLimits(probed)
			case sized.Serves(probed) == "":
				continue
			}
		}
		loops = append(loops, probed)
	}
	return loops, nil
}

// sizes reports whether all numbers above 0 make the same condition or guard of the
// parameter, but for its size.
func (a *Axis) sizes() bool {
	section, rest, _ := strings.Cut(spec.FullPath(a.Path), ".")
	switch lastOf(rest) {
	case "max_iterations", "threshold":
		return section == "terminate"
	case "absolute_max_iterations", "tokens", "calls", "cost_usd", "steps":
		return section == "guards"
	}
	return false
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

// family is candidates that differ only in when they stop, after an iteration or, by
// a hard budget, before a call; or one candidate of which that cannot be said.
type family struct {
	members []int // candidates; the first stands for all where a recording is chosen
	limits  *replay.Limits
	// configurations are those of the members; nil: the family has no limits.
	configurations []stop.Configuration
	hard           []stop.Limits // of their hard budgets

	chosen    bool
	recording int
	counter   *counter // nil: its runs were not walked yet

	endless   *replay.Replay // on the recording of that number; nil: not asked for yet
	endlessOn int
}

// timing is when a candidate stops: under one configuration of limits that several
// candidates share. Limits are nil where that cannot be said.
type timing struct {
	limits        *replay.Limits
	configuration stop.Configuration
	hard          stop.Limits // of its hard budget
}

// kinds are the limits of candidates so far. Several may ask at a time.
type kinds struct {
	one    sync.Mutex
	limits []*replay.Limits
}

// timing finds the limits that serve a loop, or begins new ones.
func (k *kinds) timing(l *spec.Loop) timing {
	for at := 0; ; at++ {
		k.one.Lock()
		if at == len(k.limits) {
			defer k.one.Unlock()
			p := replay.NewLimits(l)
			c, err := p.Configuration(l)
			if err != nil {
				return timing{}
			}
			k.limits = append(k.limits, p)
			return timing{p, c, hardLimits(l)}
		}
		p := k.limits[at]
		k.one.Unlock()
		if c, err := p.Configuration(l); err == nil {
			return timing{p, c, hardLimits(l)}
		}
	}
}

// families are those of candidates, and of each candidate the family.
func families(candidates []Candidate) (all []*family, of []*family) {
	shared, known := map[*replay.Limits]*family{}, &kinds{}
	for i := range candidates {
		if p := candidates[i].when.limits; p != nil && !slices.Contains(known.limits, p) {
			known.limits = append(known.limits, p)
		}
	}
	for i := range candidates {
		when := candidates[i].when
		if candidates[i].Loop != nil {
			when = known.timing(candidates[i].Loop)
		}
		f := shared[when.limits]
		if f == nil {
			f = &family{limits: when.limits}
			all = append(all, f)
		}
		if when.limits != nil {
			shared[when.limits] = f
			f.configurations, f.hard = append(f.configurations, when.configuration), append(f.hard, when.hard)
		}
		f.members = append(f.members, i)
		of = append(of, f)
	}
	return all, of
}

// warmFamilies are those of which the counters are kept: with many runs they are
// large, and they can be made again.
const warmFamilies = 4

// warm keeps a family's counter, and forgets that of the one walked longest ago.
func (s *Sweep) warm(f *family) {
	if s.walked = append(s.walked, f); len(s.walked) > warmFamilies {
		s.walked[0].counter = nil
		s.walked = s.walked[1:]
	}
}

// told reports whether the agent was told, other than in its requests, what a candidate
// changes.
func (s *Sweep) told(candidate, on int) bool {
	r := &s.recordings[on]
	if len(r.Announced) == 0 {
		return false
	}
	return replay.New(r.Loop, s.candidates[candidate].Declared(), replay.Options{Announced: r.Announced}).Tells() != ""
}

// Loosest sets, in a loop that is to be recorded, the value of the axis under
// which runs go on longest, so that all others can be replayed: off, else the
// largest, of min_delta the smallest. Nothing is set where the loop is as loose by
// itself, which includes that it has no such limit; nor where the parameter
// decides something else than when a run stops.
func (a *Axis) Loosest(l *spec.Loop) []spec.Assignment {
	path := spec.FullPath(a.Path)
	section, _, _ := strings.Cut(path, ".")
	own, limited := valueAt(l, path)
	if stops := section == "terminate" || section == "guards" || strings.HasSuffix(path, ".max_iterations"); !limited || !stops {
		return nil
	}
	smaller := strings.HasSuffix(path, ".min_delta")
	best := looseness(fmt.Sprint(own), smaller)
	var loosest *source.Node
	for _, value := range a.ends() {
		if is := looseness(value.Text, smaller); is > best {
			loosest, best = value, is
		}
	}
	if loosest == nil {
		return nil
	}
	return []spec.Assignment{a.assignment(loosest)}
}

// ends are the values of which one is the loosest.
func (a *Axis) ends() []*source.Node {
	all := slices.Clone(a.Values)
	for i := range a.Between {
		b := &a.Between[i]
		for _, v := range []float64{b.From, b.To} {
			if strings.HasSuffix(a.Path, "timeout") || strings.HasSuffix(a.Path, ".after") {
				all = append(all, source.New(b.Node, seconds(v)))
			} else {
				all = append(all, source.New(b.Node, plainNumber(v)))
			}
		}
	}
	return all
}

// looseness orders values: the longer runs go on, the larger; NaN where that
// cannot be told.
func looseness(text string, smaller bool) float64 {
	if text == "off" {
		return math.Inf(1)
	}
	v, ok := Number(text)
	switch {
	case !ok:
		return math.NaN()
	case smaller:
		return -v
	}
	return v
}

// valueAt is the value that a condition or limit of the loop has; it is not there
// where it is absent or off.
func valueAt(l *spec.Loop, path string) (found any, ok bool) {
	for _, v := range l.Values() {
		if v.Value != nil && (v.Path == path || v.Path == path+".after") { // the kind of a condition stands before its value
			found, ok = v.Value, true
		}
	}
	return found, ok
}

// Whole makes values of ends: every whole number between them. It is not ok where
// the ends are no whole numbers, or too many lie between them.
func (a *Axis) Whole() (ok bool) {
	var values []float64
	for i := range a.Between {
		b := &a.Between[i]
		if b.From != math.Trunc(b.From) || b.To != math.Trunc(b.To) || b.To-b.From >= mostObserved {
			return false
		}
		for v := b.From; v <= b.To; v++ {
			values = append(values, v)
		}
	}
	if len(values) > 0 {
		a.join(values, plainNumber)
	}
	a.Between = nil
	return true
}
