package reports

import (
	"fmt"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/spec/expr"
)

// metrics are the fields of `diff` that spec/expr declares in its places.go.
func (p *Pair) metrics(seen *readings) metrics {
	scores := expr.NewObject(len(p.Differences))
	fields := map[string]any{"configuration": p.Name, "scores": scores}
	for i := range p.Differences {
		d := &p.Differences[i]
		if d.Score {
			path := fmt.Sprintf("diff.scores[%q].", d.Quantity)
			scores.Set(d.Quantity, metrics{path: path, fields: d.metrics(), seen: seen})
			continue
		}
		name := fieldOf(d.Quantity)
		fields[name] = metrics{path: "diff." + name + ".", fields: d.metrics(), seen: seen}
	}
	return metrics{path: "diff.", fields: fields, seen: seen}
}

// fieldOf is the field of an amount, which is called there as it is under
// `configurations`.
func fieldOf(quantity string) string {
	if quantity == "latency_s" {
		return "latency"
	}
	return quantity
}

func (d *Difference) metrics() map[string]any {
	why := ""
	if !d.Change.Known() || d.Tasks == 0 {
		why = "nothing could be compared"
	}
	change := ranged{d.Change, d.Low, d.High}
	notWorse := fmt.Sprintf("%v (change %s, margin %.6g)", d.NotWorse, change.exact(), d.Margin)
	verdict := d.Verdict
	if verdict == "" {
		verdict = compare.CannotTell
	}
	return map[string]any{
		"verdict":   word{value: string(verdict), shown: string(verdict) + " (" + d.exactChange() + ")", missing: why},
		"not_worse": word{value: d.NotWorse, shown: notWorse, missing: why},
		"base":      d.Base, "new": d.New, "change": change, "low": d.Low, "high": d.High, "p": d.Adjusted,
		"n": int64(d.Tasks), "wins": int64(d.Wins), "losses": int64(d.Losses), "ties": int64(d.Ties),
	}
}

// exactChange is the change with its interval and the p by which it was judged.
func (d *Difference) exactChange() string {
	change := ranged{d.Change, d.Low, d.High}
	text := "change " + change.exact()
	if d.Adjusted.Known() {
		text += ", p " + d.Adjusted.Exact()
	}
	return text
}

// Numbers are both sides and their difference in one line.
func (d *Difference) Numbers() string {
	return d.Base.Exact() + " -> " + d.New.Exact() + ", " + d.exactChange()
}
