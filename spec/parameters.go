package spec

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

const parametersHint = "write {type: object, required: [name], properties: {name: {type: string}}}"

// checkParameters wants a JSON Schema of an object, whose required properties are declared.
func (l *loader) checkParameters(t *Tool) {
	n := t.Node.Get("parameters")
	if n == nil || n.Kind != source.Map || t.Parameters == nil {
		return
	}
	if kind := n.Get("type"); kind == nil || kind.Text != "object" {
		l.fault(cmp.Or(kind, n), parametersHint, "arguments are an object, so parameters need type: object")
		return
	}
	if at, what := wrongSchema(t.Parameters, n); what != "" {
		l.fault(at, "", "invalid JSON Schema: %s", what)
		return
	}
	l.checkRequired(n)
}

// checkRequired warns of required properties that no model can know of.
func (l *loader) checkRequired(n *source.Node) {
	properties, required := n.Get("properties"), n.Get("required")
	if properties == nil || required == nil || properties.Kind != source.Map {
		return
	}
	var names []string
	for _, entry := range properties.Entries {
		names = append(names, entry.Key)
	}
	for _, item := range required.Items {
		if properties.Get(item.Text) == nil {
			l.warn(item, didYouMean(item.Text, names), "the property %q is required, but not described", shorten(item.Text))
		}
	}
}

// knownSchemas are those that were looked at, which configurations share: their texts, and what is wrong with them.
var knownSchemas sync.Map // of string to mistake

// mistake is what is wrong with a schema, and the keys and indices that lead there; "" where nothing is wrong.
type mistake struct {
	path []string
	what string
}

// wrongSchema says what is wrong with a schema, and where; "" where nothing is.
func wrongSchema(text JSON, n *source.Node) (at *source.Node, what string) {
	known, ok := knownSchemas.Load(string(text))
	if !ok {
		known, _ = knownSchemas.LoadOrStore(string(text), mistakeIn(text))
	}
	m := known.(mistake)
	return lookup(n, m.path), m.what
}

func mistakeIn(text JSON) mistake {
	_, err := expr.CompileSchema(text)
	fault, ok := errors.AsType[*expr.SchemaFault](err)
	switch {
	case err == nil:
		return mistake{}
	case !ok || len(fault.Violations) == 0:
		return mistake{what: err.Error()}
	}
	return deepest(fault.Violations)
}

// deepest is the place of the violations that lie the deepest, and what they say.
func deepest(violations []expr.Violation) (m mistake) {
	var all []string
	for _, v := range violations {
		if c := cmp.Or(cmp.Compare(len(m.path), len(v.Path)), slices.Compare(v.Path, m.path)); c < 0 || len(all) == 0 {
			m.path, all = v.Path, []string{v.What}
		} else if c == 0 && !slices.Contains(all, v.What) {
			all = append(all, v.What)
		}
	}
	slices.Sort(all)
	m.what = strings.Join(all, "; ")
	return m
}

// lookup is the node that keys and indices lead to, as far as there is one.
func lookup(n *source.Node, path []string) *source.Node {
	for _, step := range path {
		next := n.Get(step)
		if i, err := strconv.Atoi(step); err == nil && n.Kind == source.List && i < len(n.Items) {
			next = n.Items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// paramOf is what expressions see as param: the parameters by full path, by every unambiguous suffix, and nested,
// so that param.terminate.max_iterations, param["terminate.max_iterations"] and param.max_iterations are the same.
func paramOf(leaves []Value) *expr.Object {
	parameters := slices.DeleteFunc(slices.Clone(leaves), func(leaf Value) bool { return !leaf.Parameter })
	suffixes := newSuffixes(parameters)
	param := expr.NewObject(2 * len(parameters))
	for _, leaf := range parameters {
		nest(param, leaf.Path, leaf.Value)
	}
	for _, leaf := range parameters {
		for _, name := range suffixes.unambiguous(leaf.Path) {
			if _, taken := param.Get(name); !taken {
				param.Set(name, leaf.Value)
			}
		}
	}
	return param
}

func nest(object *expr.Object, path string, value any) {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		object.Set(first, value)
		return
	}
	below, _ := object.Get(first)
	inner, ok := below.(*expr.Object)
	if !ok {
		inner = expr.NewObject(4)
		object.Set(first, inner)
	}
	nest(inner, rest, value)
}

// patternConditions are the conditions that a pattern presets.
var patternConditions = map[Pattern]Condition{
	PatternConfidence:  {Kind: KindConfidence, Confidence: Confidence{Threshold: source.Maybe[float64]{Value: 0.85, Set: true}}},
	PatternImprovement: {Kind: KindNoImprovement, NoImprovement: NoImprovement{Patience: source.Maybe[int]{Value: 1, Set: true}}},
}

// What guards are unless the loop says otherwise.
const (
	defaultAbsolute = 10
	defaultWindow   = 3
)

// applyPresets fills in what the pattern and the language preset. Presets of the role are in the tree already.
func (l *Loop) applyPresets() {
	l.presetCondition()
	l.Guards.applyPresets()
	for i := range l.Strategies {
		l.Strategies[i].MaxIterations = cmp.Or(l.Strategies[i].MaxIterations, 1)
	}
	if l.Evaluate != nil {
		l.Evaluate.Fix = cmp.Or(l.Evaluate.Fix, "all")
		for i := range l.Evaluate.Checks {
			l.Evaluate.Checks[i].Weight = cmp.Or(l.Evaluate.Checks[i].Weight, new(1.0))
		}
	}
}

// presetCondition adds the pattern's condition beside what is written, unless one of its kind stands anywhere in it:
// into its place in a map, behind a list.
func (l *Loop) presetCondition() {
	preset, ok := patternConditions[l.Pattern]
	if !ok || holdsKind(l.Terminate.Any, preset.Kind) {
		return
	}
	at := len(l.Terminate.Any)
	kinds, given := make([]string, at+1), make([]string, at+1)
	for i := range l.Terminate.Any {
		given[i] = l.Terminate.Any[i].Name
	}
	kinds[at] = string(preset.Kind)
	preset.Name = fullNames(kinds, given)[at]
	if l.Terminate.written.Get("any") == nil {
		after := func(c Condition) bool { return c.Kind.rank() > preset.Kind.rank() }
		if i := slices.IndexFunc(l.Terminate.Any, after); i >= 0 {
			at = i
		}
	}
	l.Terminate.Any = slices.Insert(l.Terminate.Any, at, preset)
}

// presetNode is the condition that the pattern of a tree presets, as it would be written; nil where one of its kind is
// written already. It stands where the value does that is to be set in it.
func presetNode(tree, at *source.Node) (Kind, *source.Node) {
	pattern := tree.Get("pattern")
	if pattern == nil || mentions(tree.Get("terminate"), patternConditions[Pattern(pattern.Text)].Kind) {
		return "", nil
	}
	preset := patternConditions[Pattern(pattern.Text)]
	switch preset.Kind {
	case KindConfidence:
		return preset.Kind, source.New(at, source.ObjectOf("threshold", preset.Confidence.Threshold.Value))
	case KindNoImprovement:
		return preset.Kind, source.New(at, source.ObjectOf("patience", preset.NoImprovement.Patience.Value))
	}
	return "", nil
}

// mentions is holdsKind of conditions that are not decoded yet.
func mentions(n *source.Node, kind Kind) bool {
	if n == nil {
		return false
	}
	if n.Kind == source.Map && n.Get(string(kind)) != nil {
		return true
	}
	for _, nested := range []Kind{KindAny, KindAll} {
		if list := n.Get(string(nested)); list != nil && slices.ContainsFunc(list.Items, func(item *source.Node) bool { return mentions(item, kind) }) {
			return true
		}
	}
	return false
}

func holdsKind(conditions []Condition, kind Kind) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Kind == kind || holdsKind(c.Nested, kind) })
}

func (g *Guards) applyPresets() {
	presetTo(&g.AbsoluteMaxIterations, defaultAbsolute)
	if g.Degradation != nil {
		presetTo(&g.Degradation.Window, defaultWindow)
	}
	if g.Stagnation != nil {
		presetTo(&g.Stagnation.Window, defaultWindow)
		g.Stagnation.Signature = cmp.Or(g.Stagnation.Signature, "calls")
		g.Stagnation.Scope = cmp.Or(g.Stagnation.Scope, "iteration")
	}
	if g.CircuitBreaker != nil {
		presetTo(&g.CircuitBreaker.Threshold, defaultWindow)
	}
	for i := range g.Repeated {
		g.Repeated[i].Name = cmp.Or(g.Repeated[i].Name, numbered("repeated", i+1))
	}
	for i := range g.Consecutive {
		g.Consecutive[i].Name = cmp.Or(g.Consecutive[i].Name, numbered("consecutive", i+1))
	}
}

func presetTo(limit *source.Maybe[int], value int) {
	if !limit.Set {
		*limit = source.Maybe[int]{Value: value, Set: true}
	}
}

// rolePhases are the phases of a role, in their order.
var rolePhases = []string{"planning", "execution", "refinement"}

// roleLimits are the phase limits of the roles.
var roleLimits = map[string][3]int{
	"base":              {2, 3, 1},
	"qa_specialist":     {1, 5, 2},
	"coordinator":       {2, 3, 1},
	"financial_analyst": {2, 3, 1},
	"risk_analyst":      {2, 3, 1},
}

// withRole writes the role's phases, or the limits that its phases lack, into the tree, so that parameters can address
// them. They stand where the preset stands.
func withRole(tree *source.Node) *source.Node {
	preset := tree.Get("preset")
	if preset == nil {
		return tree
	}
	limits, ok := roleLimits[preset.Text]
	if !ok {
		return tree
	}
	phases := tree.Get("phases")
	switch {
	case phases == nil:
		phases = source.New(preset, []any{})
		for i, name := range rolePhases {
			phases.Append(source.New(preset, source.ObjectOf("name", name, "max_iterations", limits[i])))
		}
	case phases.Kind == source.List:
		phases = withLimits(phases, limits, preset)
	}
	return withEntry(tree, "phases", phases)
}

func withLimits(phases *source.Node, limits [3]int, preset *source.Node) *source.Node {
	c := *phases
	c.Items = slices.Clone(phases.Items)
	for i, phase := range c.Items {
		name := phase.Get("name")
		if name == nil || phase.Get("max_iterations") != nil {
			continue
		}
		if role := slices.Index(rolePhases, name.Text); role >= 0 {
			c.Items[i] = withEntry(phase, "max_iterations", source.New(preset, limits[role]))
		}
	}
	return &c
}

// withEntry returns a copy of a mapping with one more or another entry.
func withEntry(n *source.Node, key string, value *source.Node) *source.Node {
	c := *n
	c.Entries = slices.Clone(n.Entries)
	for i := range c.Entries {
		if c.Entries[i].Key == key {
			c.Entries[i].Value = value
			return &c
		}
	}
	c.Entries = append(c.Entries, source.Entry{Key: key, KeyPos: value.Pos, Value: value})
	return &c
}

// withTotal moves max_iterations of the loop to where it is short for: terminate.max_iterations.
func withTotal(tree *source.Node) (*source.Node, *source.Fault) {
	total := tree.Get("max_iterations")
	if total == nil {
		return tree, nil
	}
	if terminate := tree.Get("terminate"); terminate != nil && terminate.Kind != source.Map {
		return tree, nil // which is refused as it stands
	}
	if written := totalOf(tree.Get("terminate")); written != nil {
		return tree, new(total.Fault("keep one of them", "max_iterations stands here and in terminate at line %d", written.Pos.Line))
	}
	c := *tree
	c.Entries = slices.DeleteFunc(slices.Clone(tree.Entries), func(e source.Entry) bool { return e.Key == "max_iterations" })
	set := Assignment{Path: "terminate.max_iterations", At: total.Pos, Value: total}
	return set.with(&c)
}

func totalOf(terminate *source.Node) *source.Node {
	if total := terminate.Get("max_iterations"); total != nil {
		return total
	}
	list := terminate.Get("any")
	if i := find(list, "max_iterations"); i >= 0 {
		return list.Items[i].Get("max_iterations")
	}
	return nil
}
