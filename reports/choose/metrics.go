package choose

import (
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec/expr"
)

// metrics are sums as the expressions of tune see them ([expr.Objective]).
type metrics struct {
	*sums
	names []string // of the scores
	timed bool     // the recording has times
	lumps bool     // only whole runs tell what they cost
	// missing is the first metric that was read and is not known, and why.
	missing string
}

// Lookup implements [expr.Scope].
func (m *metrics) Lookup(name string) (any, bool) {
	switch name {
	case "n":
		return int64(m.tasks + 0.5), true
	case "runs":
		return int64(m.runs + 0.5), true
	case "coverage":
		return m.number(name, page.ValueOf(m.exact/m.runs, m.runs > 0)), true
	case "success":
		return m.number(name, m.mean(page.Known(m.successes))), true
	case "scores":
		return m.scored(), true
	case "iterations", "latency", "cost_usd", "tokens", "calls", "tool_calls":
		return amountMetric{m, name}, true
	}
	return nil, false
}

// number is what an expression sees: null where nothing is known.
func (m *metrics) number(path string, v page.Value) any {
	if v.Known() {
		return v.Number
	}
	if m.missing == "" {
		m.missing = path + " is not known: " + v.Why()
	}
	return nil
}

func (m *metrics) scored() *expr.Object {
	object := expr.NewObject(len(m.names))
	for i, name := range m.names {
		object.Set(name, scoreMetric{m, i})
	}
	return object
}

type scoreMetric struct {
	*metrics
	at int
}

// Field implements [expr.Fields].
func (s scoreMetric) Field(name string) any {
	switch name {
	case "mean":
		return s.number("the score "+s.names[s.at], s.score(s.at))
	case "n":
		if s.at >= len(s.scores) {
			return int64(0)
		}
		return int64(s.scores[s.at].tasks + 0.5)
	}
	return nil
}

// amountMetric is an amount, by its name.
type amountMetric struct {
	*metrics
	name string
}

// Field implements [expr.Fields].
func (a amountMetric) Field(name string) any {
	total := a.total()
	switch name {
	case "mean":
		total = a.mean(total)
	case "p50":
		total = a.quantile(0.5)
	case "p95":
		total = a.quantile(0.95)
	}
	return a.number(a.name+"."+name, total)
}

func (a amountMetric) total() page.Value {
	switch a.name {
	case "iterations":
		return page.Known(a.iterations)
	case "latency":
		if !a.timed {
			return page.Missing(page.Unknown)
		}
		return page.Known(a.seconds)
	case "cost_usd":
		if a.lumps {
			return page.Missing(page.Unknown)
		}
		return a.cost()
	case "tokens":
		return a.usedTokens()
	case "calls":
		return a.used(a.calls)
	}
	return a.used(a.toolCalls)
}

func (a amountMetric) quantile(p float64) page.Value {
	of := a.everyIteration
	if a.name == "latency" {
		of = a.everySecond
	}
	if a.name == "latency" && !a.timed {
		return page.Missing(page.Unknown)
	}
	return page.ValueOf(stats.Quantile(slices.Sorted(slices.Values(of)), p))
}
