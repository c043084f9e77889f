package reports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
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
		scores.Set(s.Name, of(name, map[string]any{"mean": s.Mean, "n": int64(s.Tasks)}))
	}
	declared := expr.NewObject(len(c.Declared))
	for m := range page.EachOf(c.Declared) {
		declared.Set(m.Name, m.metrics(path+fmt.Sprintf("metrics[%q].", m.Name), seen))
	}
	spread := func(s Spread) map[string]any {
		return map[string]any{"mean": s.Mean, "sum": c.sum(s.Mean.Value), "p50": s.P50, "p95": s.P95}
	}
	total := func(mean page.Estimate, sum page.Value) map[string]any {
		if !mean.Known() {
			sum = mean.Value
		}
		return map[string]any{"mean": mean, "sum": sum, "total": sum}
	}
	return metrics{path: path, seen: seen, fields: map[string]any{
		"n": int64(c.Tasks), "runs": int64(c.Runs), "coverage": c.Coverage, "success": c.Success, "scores": scores, "metrics": declared,
		"iterations": of("iterations", spread(c.Iterations)),
		"latency":    of("latency", spread(c.Latency)),
		"cost_usd":   of("cost_usd", map[string]any{"mean": c.Cost.Mean, "sum": c.Cost.Total, "total": c.Cost.Total}),
		"tokens":     of("tokens", total(c.Tokens, c.TotalTokens)),
		"calls":      of("calls", total(c.Calls, c.TotalCalls)),
		"tool_calls": of("tool_calls", total(c.ToolCalls, c.TotalToolCalls)),
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

// metrics is a record of the metrics. It remembers which values were read.
type metrics struct {
	path   string
	fields map[string]any // Value, Estimate, int64, word, metrics, string or *expr.Object
	seen   *readings
}

// Field implements [expr.Fields]. A missing number is null.
func (m metrics) Field(name string) any {
	switch value := m.fields[name].(type) {
	case page.Value:
		return m.seen.number(m.path+name, page.Estimate{Value: value, Range: page.NoRange(page.Nothing)})
	case page.Estimate:
		return m.seen.number(m.path+name, value)
	case int64:
		m.seen.add(reading{path: m.path + name, Estimate: page.Estimate{Value: page.Known(float64(value))}})
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

// metrics are the fields that spec/expr declares for a metric.
func (m *Metric) metrics(path string, seen *readings) metrics {
	fields := m.fields()
	groups := expr.NewObject(len(m.Groups))
	for g := range page.EachOf(m.Groups) {
		groups.Set(g.Group, metrics{path: path + fmt.Sprintf("groups[%q].", g.Group), seen: seen, fields: g.fields()})
	}
	fields["groups"] = groups
	return metrics{path: path, seen: seen, fields: fields}
}

func (v *MetricValue) fields() map[string]any {
	return map[string]any{"value": v.Value, "n": int64(v.Tasks)}
}

// readings are the metrics that an expression read, in the order in which they
// were first read.
type readings struct {
	all []reading
	// at are numbers that stand in the place of those measured, by their paths.
	at map[string]float64
	// untold is why a word that was read is not known, nil where all are.
	untold error
}

// reading is a metric that was read.
type reading struct {
	path string
	page.Estimate
	text string // of a word, in the place of the number
}

// word is a metric that is no number.
type word struct {
	value any
	shown string // with the numbers that it comes from
	// missing says why nothing is known; "" where it is.
	missing string
}

func (r *readings) add(one reading) {
	if !slices.ContainsFunc(r.all, func(known reading) bool { return known.path == one.path }) {
		r.all = append(r.all, one)
	}
}

// number is what an expression sees of a number: null where it is missing.
func (r *readings) number(path string, of page.Estimate) any {
	r.add(reading{path: path, Estimate: of})
	if at, ok := r.at[path]; ok {
		return at
	}
	if !of.Known() {
		return nil
	}
	return of.Number
}

// word is what an expression sees of a word. Null would be unlike any word, and
// let thresholds hold of which nothing is known.
func (r *readings) word(path string, of word) any {
	if of.missing != "" {
		r.untold = fmt.Errorf("%s is missing: %s", path, of.missing)
	}
	r.add(reading{path: path, text: of.shown})
	return of.value
}

// explain adds to an error what was missing.
func (r *readings) explain(err error) error {
	if err == nil {
		return r.untold
	}
	for _, one := range r.all {
		if !one.Known() {
			return fmt.Errorf("%w (%s is missing: %s)", err, one.path, one.Why())
		}
	}
	return errors.Join(err, r.untold)
}

// detail lists what was read, with the intervals.
func (r *readings) detail() string {
	parts := make([]string, len(r.all))
	for i, one := range r.all {
		parts[i] = one.path + " is " + one.exact()
	}
	return strings.Join(parts, ", ")
}

func (r *reading) exact() string {
	if r.text != "" {
		return r.text
	}
	return exact(r.Estimate)
}

// exact shows the number and its interval with enough digits to see on which
// side of a bound they lie.
func exact(e page.Estimate) string {
	text := e.Exact()
	if isWide(e) {
		text += " [" + e.Low.Exact() + ", " + e.High.Exact() + "]"
	}
	return text
}

func isWide(e page.Estimate) bool {
	return e.Known() && e.Low.Known() && e.High.Known() && e.Low.Number < e.High.Number
}

func (r *readings) wide() (wide []reading) {
	for _, one := range r.all {
		if isWide(one.Estimate) {
			wide = append(wide, one)
		}
	}
	return wide
}

// metrics are the fields of `diff` that spec/expr declares in its places.go.
func (p *Pair) metrics(seen *readings) metrics {
	scores := expr.NewObject(len(p.Differences))
	fields := map[string]any{"configuration": p.Name, "scores": scores}
	for i := range p.Differences {
		row := differenceRow{p, &p.Differences[i]}
		if row.Score {
			path := fmt.Sprintf("diff.scores[%q].", row.Name)
			scores.Set(row.Name, metrics{path: path, fields: row.metrics(), seen: seen})
			continue
		}
		name := strings.TrimSuffix(row.Name, "_s") // as under `configurations`
		fields[name] = metrics{path: "diff." + name + ".", fields: row.metrics(), seen: seen}
	}
	return metrics{path: "diff.", fields: fields, seen: seen}
}

func (row *differenceRow) metrics() map[string]any {
	why := ""
	change, adjusted := row.change(), row.Value(row.Adjusted)
	if !change.Known() || row.Tasks == 0 {
		why = "nothing could be compared"
	}
	notWorse := fmt.Sprintf("%v (change %s, margin %.6g)", row.NotWorse, exact(change), row.Margin)
	verdict := cmp.Or(row.Verdict, compare.CannotTell)
	return map[string]any{
		"verdict":   word{value: string(verdict), shown: string(verdict) + " (" + row.exactChange() + ")", missing: why},
		"not_worse": word{value: row.NotWorse, shown: notWorse, missing: why},
		"base":      row.Value(row.Base), "new": row.Value(row.New), "change": change, "low": change.Low, "high": change.High, "p": adjusted,
		"n": int64(row.Tasks), "wins": int64(row.Wins), "losses": int64(row.Losses), "ties": int64(row.Ties),
	}
}

func (row *differenceRow) change() page.Estimate {
	return page.Estimate{Value: row.Value(row.Change), Range: row.Interval()}
}

// exactChange is the change with its interval and the p by which it was judged.
func (row *differenceRow) exactChange() string {
	text := "change " + exact(row.change())
	if p := row.Value(row.Adjusted); p.Known() {
		text += ", p " + p.Exact()
	}
	return text
}

// numbers are both sides and their difference in one line.
func (row *differenceRow) numbers() string {
	return row.Value(row.Base).Exact() + " -> " + row.Value(row.New).Exact() + ", " + row.exactChange()
}
