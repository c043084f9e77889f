package wire

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// MostTokens is more than any call can use; a server that reports more is not believed.
const MostTokens = 1 << 30

// mostCounters is how many counters of a usage are kept, more than any provider has.
const mostCounters = 64

// Usage is what a server says of the usage of a call: its numbers by their names, those of nested objects joined
// by dots. Of several reports the largest numbers count, so that nothing is lost where a usage shrinks.
type Usage map[string]float64

// UnmarshalJSON adds a report. It never fails: what is no number stays unknown, and the answer still counts.
func (u *Usage) UnmarshalJSON(report []byte) error {
	if *u == nil {
		*u = Usage{}
	}
	u.add("", report)
	return nil
}

func (u Usage) add(prefix string, report json.RawMessage) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(report, &fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) { // the same ones are kept each time
		value := fields[name]
		name = prefix + name
		if value[0] == '{' && len(name) < 200 {
			u.add(name+".", value)
			continue
		}
		var number json.Number // also of a text
		_ = json.Unmarshal(value, &number)
		n, err := number.Float64()
		before, known := u[name]
		if err == nil && (n > before || !known) && (known || len(u) < mostCounters) {
			u[name] = n
		}
	}
}

// Tokens is a whole number of tokens, however it is written: 12, 12.0, 1.2e1 or "12"; 0 where nothing is known. What no
// call can use is a number that is too large to be Plausible, and small enough to be added.
func (u Usage) Tokens(name string) int64 {
	if !u.Tells(name) {
		return 0
	}
	return int64(min(max(u[name], -1000*MostTokens), 1000*MostTokens))
}

// Tells reports whether whole numbers are known of all these names.
func (u Usage) Tells(names ...string) bool {
	for _, name := range names {
		if n, known := u[name]; !known || n != math.Trunc(n) {
			return false
		}
	}
	return true
}

// Beyond are the numbers above 0 that are not among the known ones: a JSON object, or nil.
func (u Usage) Beyond(known []string) json.RawMessage {
	rest := maps.Clone(u)
	maps.DeleteFunc(rest, func(name string, n float64) bool { return n <= 0 || slices.Contains(known, name) })
	if len(rest) == 0 {
		return nil
	}
	text, _ := json.Marshal(rest) // names and finite numbers always are JSON
	return text
}

// Plausible reports whether a usage can be: of some input, whose parts it is not less than, and of some output where
// there was any.
func Plausible(u record.Usage, output int64) bool {
	return u.InputTokens > 0 && u.InputTokens <= MostTokens &&
		min(u.CachedTokens, u.CacheWriteTokens, u.CacheWrite1hTokens) >= 0 &&
		u.CachedTokens+u.CacheWriteTokens+u.CacheWrite1hTokens <= u.InputTokens &&
		u.OutputTokens >= 0 && u.OutputTokens <= MostTokens && (u.OutputTokens > 0 || output == 0)
}

// estimates learns from what a server reports how far the estimates of tokens by
// characters are off for its model. The zero value corrects nothing yet.
type estimates struct {
	mu            sync.Mutex
	input, output ratio
}

// ratio compares reported tokens with estimated ones.
type ratio struct{ reported, estimated float64 }

func (r *ratio) correct(estimate int64) int64 {
	if r.estimated == 0 {
		return estimate
	}
	return int64(math.Ceil(float64(estimate) * r.reported / r.estimated))
}

func (r *ratio) learn(reported, estimate int64) {
	if estimate > 0 {
		r.reported += float64(reported)
		r.estimated += float64(estimate)
	}
}

// Used is the usage of an answer, of so many estimated tokens: what the server reports where it is plausible, else
// the estimates, corrected by what the server has reported before.
func (l *Line) Used(reported record.Usage, plausible bool, input, output int64) record.Usage {
	e := &l.estimates
	e.mu.Lock()
	defer e.mu.Unlock()
	if !plausible {
		return record.Usage{Calls: 1, InputTokens: e.input.correct(input), OutputTokens: e.output.correct(output), Estimated: 1}
	}
	e.input.learn(reported.InputTokens, input)
	e.output.learn(reported.OutputTokens, output) // hidden reasoning included
	return reported
}

// Index is a place in a list, written as a number or as a text. Anything else is not known.
type Index struct {
	N     int64
	Known bool
}

// UnmarshalJSON takes anything.
func (i *Index) UnmarshalJSON(raw []byte) error {
	u := Usage{}
	u.add("", slices.Concat([]byte(`{"index":`), raw, []byte("}")))
	*i = Index{u.Tokens("index"), u.Tells("index")}
	return nil
}
