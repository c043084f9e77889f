package imports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Recorded is the loop that represents the agent of a log.
type Recorded struct {
	Loop  *spec.Loop
	rules *stop.Rules
}

// byAgent are the reasons that an agent, or its user, may end a run for.
var byAgent = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked, record.ReasonCapability, record.ReasonAgentEnded,
	record.ReasonUserEnded,
}

// cuts are all other reasons that a log may give, and their classes.
var cuts = map[record.Reason]record.Class{
	record.ReasonPassed: record.ByCondition, record.ReasonConfidence: record.ByCondition, record.ReasonRepeated: record.ByCondition,
	record.ReasonConsecutive: record.ByCondition, record.ReasonNoImprovement: record.ByCondition, record.ReasonTimeout: record.ByCondition,
	record.ReasonMaxIterations: record.ByCondition, record.ReasonMaxSteps: record.ByCondition,
	record.ReasonCircuitBreaker: record.ByGuard, record.ReasonStagnation: record.ByGuard, record.ReasonRepeatedOutput: record.ByGuard,
	record.ReasonDegradation: record.ByGuard, record.ReasonBudgetTokens: record.ByGuard, record.ReasonBudgetCalls: record.ByGuard,
	record.ReasonBudgetCost: record.ByGuard, record.ReasonAbsolute: record.ByGuard, record.ReasonTooManyErrors: record.ByGuard,
	record.ReasonCancelled: record.ByBudget, record.ReasonError: record.ByFault, record.ReasonEnvironment: record.ByFault,
	record.ReasonUnknown: record.ByUnknown,
}

// end finds how a run ended: by the rules that the log was made under, by the
// agent, or because something else cut it.
func (b *builder) end(run *record.Run, recorded *Recorded, task *spec.Task, s *scope) {
	ended, _ := truth(b.mapping.Ended, s)
	gaveUp, _ := truth(b.mapping.GaveUp, s)
	reason := record.Reason(text(b.mapping.Stop, s))
	if _, cut := cuts[reason]; reason != "" && !cut && !slices.Contains(byAgent, reason) {
		s.fail(b.mapping.Stop, "unknown stop reason %q", reason)
	}
	if s.err != nil {
		return
	}
	if ended = ended || gaveUp; ended && len(run.Iterations) > 0 {
		why := record.ReasonAgentEnded
		switch {
		case gaveUp:
			why = record.ReasonGaveUp
		case slices.Contains(byAgent, reason):
			why = reason
		}
		run.Iterations[len(run.Iterations)-1].Ended = &record.Ended{Reason: string(why)}
	}
	run.Outcome = b.decide(run, recorded, task, reason, ended)
	if success, known := truth(b.mapping.Success, s); known {
		run.Outcome.Success = success
	}
}

// decide folds the run under its rules. A rule that would have ended it earlier
// contradicts the log.
func (b *builder) decide(run *record.Run, recorded *Recorded, task *spec.Task, reason record.Reason, ended bool) record.Outcome {
	var param any // not an object that is nil
	if recorded.Loop.Param != nil {
		param = recorded.Loop.Param
	}
	state := recorded.rules.Start(task, param)
	for i := range run.Iterations {
		d := state.Fold(&run.Iterations[i])
		if !d.Stop {
			continue
		}
		if i == len(run.Iterations)-1 {
			return d.Outcome
		}
		b.contradicts = cmp.Or(b.contradicts, i+1)
	}
	if ended {
		return state.StopBefore(record.ReasonAgentEnded)
	}
	if _, known := cuts[reason]; !known {
		reason = record.ReasonUnknown
	}
	o := state.StopBefore(reason)
	o.Status, o.Class, o.Fired = record.Completed, cuts[reason], stop.OfLog
	return o
}

// underLimits knows under which limits the runs of each configuration were made. Runs
// of one name under several limits are of several configurations: the first keeps the
// name, the others are named as a sweep names them, NAME[max_iterations=3].
type underLimits struct {
	mapping *spec.Import
	of      map[string]*limitsOf // by the name of the configuration
	order   []string             // of those that an expression gave limits
}

type limitsOf struct {
	from   string // the name that the mapping gave it
	text   string // the limits as JSON, "" where they are unknown
	values []limitValue
	limits *spec.Limits
}

type limitValue struct{ path, value string }

// limits are those of a configuration, nil where they are unknown.
func (u *underLimits) limits(configuration string) *spec.Limits {
	if known, ok := u.of[configuration]; ok {
		return known.limits
	}
	if r := u.mapping.RecordedUnder; r != nil && r.Each == nil {
		return &r.Limits
	}
	return nil
}

// named is the name that the mapping gave a configuration.
func (u *underLimits) named(configuration string) string {
	if known, ok := u.of[configuration]; ok {
		return known.from
	}
	return configuration
}

// configuration is the name of the configuration that a run is of.
func (u *underLimits) configuration(named string, s *scope) string {
	r := u.mapping.RecordedUnder
	if r == nil || r.Each == nil {
		return named
	}
	of := &limitsOf{from: named}
	v, known := typed[*expr.Object](r.Each, s, "an object with terminate and guards")
	if known {
		of.text, of.values = string(encoded(v, s)), flattened(nil, "", v)
	}
	name := named
	if first, ok := u.of[named]; ok && first.text != of.text {
		name = spec.VariantName(named, differing(of.values, first.values), func(string) bool { return false })
	}
	if before, ok := u.of[name]; ok {
		if before.text != of.text {
			s.fail(r.Each, "the configuration %q was recorded under other limits: give them different names with configuration", name)
		}
		return name
	}
	if known && s.err == nil {
		if of.limits, s.err = u.mapping.LimitsOf(plain(v)); s.err != nil {
			return ""
		}
		if _, err := u.mapping.LoopUnder(name, of.limits); err != nil {
			s.err = fmt.Errorf("recorded_under: %w", err)
		}
	}
	if s.err == nil {
		u.of[name], u.order = of, append(u.order, name)
	}
	return name
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
			o.Set(key, plain(inside))
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
