package reports

import (
	"fmt"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/expr"
)

// Metrics are the numbers of the report as the expressions of thresholds see
// them ([expr.Threshold]). Configurations without a run that counts are not
// there: nothing can be said of them.
func (r *Report) Metrics() expr.Scope { return r.metrics(nil, &readings{}) }

// Metrics are the numbers of one configuration as the expressions of tune see
// them ([expr.Objective]).
func (c *Configuration) Metrics() expr.Scope { return scope{c.metrics("", &readings{})} }

// metrics are those of the report and, where there is one, of a comparison with
// the baseline.
func (r *Report) metrics(pair *Pair, seen *readings) expr.Scope {
	configurations := expr.NewObject(len(r.Configurations))
	for c := range r.each() {
		if c.Runs == 0 {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			configurations.Set(name, c.metrics(fmt.Sprintf("configurations[%q].", name), seen))
		}
	}
	fields := map[string]any{"configurations": configurations}
	if pair != nil {
		fields["diff"] = pair.metrics(seen)
	}
	return scope{metrics{fields: fields, seen: seen}}
}

// metrics are the fields that spec/expr declares for them in its places.go. n
// counts tasks, runs the runs that count.
func (c *Configuration) metrics(path string, seen *readings) metrics {
	of := func(name string, fields map[string]any) metrics {
		return metrics{path: path + name + ".", fields: fields, seen: seen}
	}
	scores := expr.NewObject(len(c.Scores))
	for _, s := range c.Scores {
		name := fmt.Sprintf("scores[%q]", s.Name)
		scores.Set(s.Name, of(name, map[string]any{"mean": ranged{s.Mean, s.Low, s.High}, "n": int64(s.Tasks)}))
	}
	declared := expr.NewObject(len(c.Declared))
	for i := range c.Declared {
		m := &c.Declared[i]
		declared.Set(m.Name, m.metrics(path+fmt.Sprintf("metrics[%q].", m.Name), seen))
	}
	spread := func(s Spread) map[string]any {
		return map[string]any{"mean": rangedBy(s.Mean, s.MeanInterval), "sum": c.sum(s.Mean), "p50": rangedBy(s.P50, s.P50Interval), "p95": s.P95}
	}
	total := func(mean page.Value, interval page.Range, sum page.Value) map[string]any {
		if !mean.Known() {
			sum = mean
		}
		return map[string]any{"mean": rangedBy(mean, interval), "sum": sum, "total": sum}
	}
	return metrics{path: path, seen: seen, fields: map[string]any{
		"n": int64(c.Tasks), "runs": int64(c.Runs), "coverage": c.Coverage, "success": rangedBy(c.Success, c.SuccessInterval), "scores": scores, "metrics": declared,
		"iterations": of("iterations", spread(c.Iterations)),
		"latency":    of("latency", spread(c.Latency)),
		"cost_usd":   of("cost_usd", map[string]any{"mean": rangedBy(c.Cost.Mean, c.Cost.MeanInterval), "sum": c.Cost.Total, "total": c.Cost.Total}),
		"tokens":     of("tokens", total(c.Tokens, c.TokensInterval, c.TotalTokens)),
		"calls":      of("calls", total(c.Calls, c.CallsInterval, c.TotalCalls)),
		"tool_calls": of("tool_calls", total(c.ToolCalls, c.ToolCallsInterval, c.TotalToolCalls)),
	}}
}

// sum is that over all runs of a number of which the mean per run is known, free
// of the rounding of the mean.
func (c *Configuration) sum(mean page.Value) page.Value {
	if mean.Known() {
		mean.Number = page.Raw(mean.Number * float64(c.Runs))
	}
	return mean
}

// ranged is a metric with the ends of its interval.
type ranged struct{ value, low, high page.Value }

func rangedBy(value page.Value, interval page.Range) ranged {
	return ranged{value, interval.Low, interval.High}
}

// metrics is a record of the metrics. It remembers which values were read.
type metrics struct {
	path   string
	fields map[string]any // Value, ranged, int64, word, metrics, string or *expr.Object
	seen   *readings
}

// Field implements [expr.Fields]. A missing number is null.
func (m metrics) Field(name string) any {
	switch value := m.fields[name].(type) {
	case page.Value:
		return m.seen.number(m.path+name, ranged{value: value, low: page.Missing(page.Nothing), high: page.Missing(page.Nothing)})
	case ranged:
		return m.seen.number(m.path+name, value)
	case int64:
		m.seen.add(reading{path: m.path + name, ranged: ranged{value: page.Known(float64(value))}})
		return value
	case word:
		return m.seen.word(m.path+name, value)
	default:
		return value
	}
}

type scope struct{ top metrics }

// Lookup implements [expr.Scope].
func (s scope) Lookup(name string) (any, bool) {
	if _, ok := s.top.fields[name]; !ok {
		return nil, false
	}
	return s.top.Field(name), true
}
