package spec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// kindOrder is the order in which the conditions of a map give the reason.
var kindOrder = []Kind{KindConfidence, KindWhen, KindRepeated, KindConsecutive, KindNoImprovement, KindTimeout,
	KindAny, KindAll, KindMaxIterations}

func isKind(key string) bool { return slices.Contains(kindOrder, Kind(key)) }

func (k Kind) rank() int { return slices.Index(kindOrder, k) }

// conditionKeys are what a map of conditions may hold.
type conditionKeys struct {
	Confidence    Confidence         `yaml:"confidence" doc:"The confidence reaches a threshold."`
	When          *Expr              `yaml:"when" doc:"A CEL boolean holds."`
	Repeated      Repeated           `yaml:"repeated" doc:"The last values of an expression are equal."`
	Consecutive   Consecutive        `yaml:"consecutive" doc:"An expression was true so many times in a row."`
	NoImprovement NoImprovement      `yaml:"no_improvement" doc:"So many iterations in a row did not improve."`
	Timeout       Timeout            `yaml:"timeout" doc:"So much time has passed: 60s, or {after, cancel, working}."`
	MaxIterations source.Maybe[int]  `yaml:"max_iterations" min:"1" doc:"So many iterations were made."`
	Any           []conditionInAList `yaml:"any" minlen:"1" doc:"One of them holds."`
	All           []conditionInAList `yaml:"all" minlen:"1" doc:"All of them hold after the same iteration."`
}

// conditionInAList is an item of any and all: one condition with an optional name.
type conditionInAList struct {
	Name          string `yaml:"name" minlen:"1" doc:"What reports call it; default: its kind."`
	conditionKeys `yaml:",inline"`
}

// DecodeNode takes a map of conditions.
func (t *Tree) DecodeNode(n *source.Node, d *source.Decoder) {
	t.written = n
	if n.Kind != source.Map {
		d.Fault(n, "write confidence: {threshold: 0.9}, or any: or all: before the list", "want a mapping of conditions")
		return
	}
	for _, entry := range n.Entries {
		switch kind := Kind(entry.Key); {
		case !isKind(entry.Key):
			d.Add(n.KeyFault(entry.Key, nearKind(entry.Key), "unknown condition %q", entry.Key))
		case kind == KindAny && entry.Value.Kind == source.List:
			t.Any = append(t.Any, conditionsOf(entry.Value, d, false)...)
		default:
			t.Any = append(t.Any, conditionOf(kind, entry.Value, d, false))
		}
	}
	if n.Get("any") == nil {
		slices.SortStableFunc(t.Any, func(a, b Condition) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	}
	nameConditions(t.Any, d)
}

func nearKind(word string) string {
	words := make([]string, len(kindOrder))
	for i, kind := range kindOrder {
		words[i] = string(kind)
	}
	return didYouMean(word, words)
}

// conditionsOf decodes the list of an any or all.
func conditionsOf(n *source.Node, d *source.Decoder, underAll bool) []Condition {
	if n.Kind != source.List || len(n.Items) == 0 {
		d.Fault(n, `start each condition with "- "`, "want a list of conditions")
		return nil
	}
	var conditions []Condition
	for _, item := range n.Items {
		if c, ok := itemOf(item, d, underAll); ok {
			conditions = append(conditions, c)
		}
	}
	nameConditions(conditions, d)
	return conditions
}

// itemOf decodes one item of such a list: one condition and perhaps its name.
func itemOf(n *source.Node, d *source.Decoder, underAll bool) (c Condition, ok bool) {
	if n.Kind != source.Map {
		d.Fault(n, "write - max_iterations: 3", "want a condition")
		return c, false
	}
	for _, entry := range n.Entries {
		switch {
		case entry.Key == "name":
			d.DecodeTagged(entry.Value, &c.Name, `minlen:"1"`)
		case !isKind(entry.Key):
			d.Add(n.KeyFault(entry.Key, nearKind(entry.Key), "unknown condition %q", entry.Key))
			ok = true
		case c.Kind != "":
			d.Add(n.KeyFault(entry.Key, `start each condition with "- "`, "a second condition in one item"))
		default:
			name := c.Name
			c = conditionOf(Kind(entry.Key), entry.Value, d, underAll)
			c.Name = cmp.Or(c.Name, name)
		}
	}
	if c.Kind == "" && !ok {
		d.Fault(n, "write - max_iterations: 3", "this item holds no condition")
	}
	return c, c.Kind != ""
}

// conditionOf decodes the value of a condition.
func conditionOf(kind Kind, n *source.Node, d *source.Decoder, underAll bool) Condition {
	c := Condition{Kind: kind, Node: n}
	if isOff(n) {
		c.Off = true
		return c
	}
	switch kind {
	case KindAny, KindAll:
		c.Nested = conditionsOf(n, d, underAll || kind == KindAll)
	case KindConfidence:
		c.decode(n, d, &c.Confidence, "{threshold: %s}")
		c.Off = c.Confidence.Threshold.Off
	case KindWhen:
		c.When = &Expr{}
		c.When.DecodeNode(n, d)
	case KindRepeated:
		c.decode(n, d, &c.Repeated, "")
		c.Off = c.Repeated.Times.Off
	case KindConsecutive:
		c.decode(n, d, &c.Consecutive, "")
		c.Off = c.Consecutive.Times.Off
	case KindNoImprovement:
		c.decode(n, d, &c.NoImprovement, "{patience: %s}")
		c.Off = c.NoImprovement.Patience.Off
	case KindTimeout:
		c.decodeTimeout(n, d, underAll)
	case KindMaxIterations:
		var limit source.Maybe[int]
		d.DecodeTagged(n, &limit, `min:"1"`)
		c.MaxIterations, c.Off = limit.Value, limit.Off
	}
	return c
}

// decode fills the fields of a kind; short is what a bare value could have meant.
func (c *Condition) decode(n *source.Node, d *source.Decoder, fields any, short string) {
	if n.Kind != source.Map && n.Kind != source.List && short != "" && n.Kind != source.Null {
		d.Fault(n, "write "+fmt.Sprintf(short, n.Text), "want a mapping, got %s", n.Text)
		return
	}
	d.Decode(n, fields)
}

func (c *Condition) decodeTimeout(n *source.Node, d *source.Decoder, underAll bool) {
	if n.Kind == source.Map {
		d.Decode(n, &c.Timeout)
	} else {
		d.DecodeTagged(n, &c.Timeout.After, `above:"0s"`)
	}
	c.Off = c.Timeout.After.Off
	if cancel := n.Get("cancel"); cancel != nil && underAll && c.Timeout.Cancel != nil && *c.Timeout.Cancel {
		d.Fault(cancel, "write cancel: false, or move the timeout out of all", "a timeout under all cannot cancel the iteration in flight")
	}
	if c.Timeout.Cancel == nil {
		cancels := !underAll
		c.Timeout.Cancel = &cancels
	}
}

func isOff(n *source.Node) bool { return n != nil && n.Kind == source.String && n.Text == "off" }

// nameConditions gives the names of one list, and refuses those that stand twice.
func nameConditions(conditions []Condition, d *source.Decoder) {
	kinds, given := make([]string, len(conditions)), make([]string, len(conditions))
	for i := range conditions {
		kinds[i], given[i] = string(conditions[i].Kind), conditions[i].Name
	}
	seen := map[string]bool{}
	for i, name := range fullNames(kinds, given) {
		if conditions[i].Name = name; seen[name] {
			d.Fault(conditions[i].Node, "give one of them another name", "two conditions of one list are named %q", name)
		}
		seen[name] = true
	}
}

// fullNames are the names of a list of conditions. One without is called by its
// kind, then kind-2 and so on: by the first of these that no other has.
func fullNames(kinds, given []string) []string {
	names, taken := slices.Clone(given), map[string]bool{}
	for _, name := range given {
		taken[name] = true
	}
	for i, kind := range kinds {
		for n := 1; names[i] == ""; n++ {
			if name := numbered(kind, n); !taken[name] {
				names[i], taken[name] = name, true
			}
		}
	}
	return names
}

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
