package imports

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// underLimits knows under which limits the runs of each configuration were made. Runs
// of one name under several limits are of several configurations: the first keeps the
// name, the others are named as a sweep names them, NAME[max_iterations=3].
type underLimits struct {
	mapping *spec.Import
	of      map[string]*limitsOf // by the name of the configuration
	order   []string             // of those that an expression gave limits
}

// limitsOf are the limits of a configuration.
type limitsOf struct {
	from   string // the name that the mapping gave it
	text   string // the limits as JSON, "" where nobody knows them
	values []limitValue
	limits *spec.Limits
}

// limitValue is one limit: the path that tells it from the others, and its value.
type limitValue struct{ path, value string }

func newUnderLimits(m *spec.Import) *underLimits {
	return &underLimits{mapping: m, of: map[string]*limitsOf{}}
}

// limits are those of a configuration, nil where nobody knows them.
func (u *underLimits) limits(configuration string) *spec.Limits {
	if known, ok := u.of[configuration]; ok {
		return known.limits
	}
	if r := u.mapping.RecordedUnder; r != nil && r.Each == nil {
		return &r.Limits
	}
	return nil
}

// configuration is the name of the configuration that a run is of.
func (u *underLimits) configuration(named string, s *scope) (string, error) {
	r := u.mapping.RecordedUnder
	if r == nil || r.Each == nil {
		return named, nil
	}
	of := &limitsOf{from: named}
	v, err := value(r.Each, s)
	if err == nil && v != nil {
		of.text, of.values, err = textOf(r.Each, v)
	}
	if err != nil {
		return "", err
	}
	name := named
	if first, ok := u.of[named]; ok && first.text != of.text {
		name = named + "[" + differing(of.values, first.values) + "]"
	}
	if known, ok := u.of[name]; ok {
		if known.text != of.text {
			return "", wrong(r.Each, "the configuration %q was recorded under other limits: tell both apart with configuration", name)
		}
		return name, nil
	}
	if v != nil {
		if of.limits, err = u.mapping.LimitsOf(plain(v)); err != nil {
			return "", err
		}
		if _, err := u.mapping.LoopUnder(name, of.limits); err != nil {
			return "", fmt.Errorf("recorded_under: %w", err)
		}
	}
	u.of[name], u.order = of, append(u.order, name)
	return name, nil
}

// parted are the names of the configurations that others were parted from.
func (u *underLimits) parted() (names []string) {
	for _, name := range u.order {
		if from := u.of[name].from; from != name && !slices.Contains(names, from) {
			names = append(names, from)
		}
	}
	return names
}

// textOf are limits as JSON, and one by one.
func textOf(e *spec.Expr, v any) (text string, values []limitValue, err error) {
	object, ok := v.(*expr.Object)
	if !ok {
		return "", nil, wrong(e, "want an object with terminate and guards, got %s", describe(v))
	}
	encoded, err := encode(v)
	return string(encoded), flattened(nil, "", object), err
}

// flattened are the values inside an object, each with its path.
func flattened(all []limitValue, at string, v any) []limitValue {
	object, ok := v.(*expr.Object)
	if !ok {
		return append(all, limitValue{at, strings.Trim(fmt.Sprint(plain(v)), `"`)})
	}
	for i := range object.Len() {
		key, inside := object.At(i)
		all = flattened(all, strings.TrimPrefix(at+"."+key, "."), inside)
	}
	return all
}

// differing are the limits in which a configuration differs from the first of its
// name, by the last words of their paths.
func differing(these, first []limitValue) string {
	var parts []string
	for _, one := range these {
		if !slices.Contains(first, one) {
			parts = append(parts, one.path[strings.LastIndexByte(one.path, '.')+1:]+"="+one.value)
		}
	}
	for _, one := range first {
		if !slices.ContainsFunc(these, func(v limitValue) bool { return v.path == one.path }) {
			parts = append(parts, one.path[strings.LastIndexByte(one.path, '.')+1:]+"=unknown")
		}
	}
	return strings.Join(parts, ",")
}

// plain is a value as specs hold it.
func plain(v any) any {
	switch x := v.(type) {
	case *expr.Object:
		o := &source.Object{}
		for i := range x.Len() {
			key, inside := x.At(i)
			o.Keys, o.Values = append(o.Keys, key), append(o.Values, plain(inside))
		}
		return o
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = plain(x[i])
		}
		return list
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < largest {
			return int64(x)
		}
	case time.Duration:
		return x.String()
	}
	return v
}
