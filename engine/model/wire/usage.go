package wire

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// MostTokens is more than any call can use; a server that reports more is not believed.
const MostTokens = 1 << 30

// counted learns from what a server reports how far the estimates of tokens by
// characters are off for its model. The zero value corrects nothing yet.
type counted struct {
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
	if estimate == 0 {
		return
	}
	r.reported += float64(reported)
	r.estimated += float64(estimate)
}

// Count is a number of tokens, or of anything that is counted: a whole number in
// whatever way it is written, 12, 12.0, 1.2e1 or "12". Anything else is not known.
type Count struct {
	N     int64
	Known bool
}

// UnmarshalJSON takes anything.
func (c *Count) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*c = Count{n, true}
		return nil
	}
	var number json.Number // also of a text
	if json.Unmarshal(raw, &number) != nil || number == "" {
		return nil
	}
	if n, err := number.Int64(); err == nil {
		*c = Count{n, true}
	} else if f, err := number.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= MostTokens {
		*c = Count{int64(f), true}
	}
	return nil
}

// Raise takes another report of the same count: the larger one counts. It reports whether the other one is less.
func (c *Count) Raise(now Count) (less bool) {
	switch {
	case !now.Known:
		return false
	case !c.Known || now.N >= c.N:
		*c = now
		return false
	}
	return true
}

// Used is the usage of an answer, of so many estimated tokens: what the server reports where it is plausible, else
// the estimates, corrected by what the server has reported before.
func (l *Line) Used(reported record.Usage, plausible bool, input, output int64) record.Usage {
	c := &l.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	if !plausible {
		return record.Usage{Calls: 1, InputTokens: c.input.correct(input), OutputTokens: c.output.correct(output), Estimated: 1}
	}
	c.input.learn(reported.InputTokens, input)
	c.output.learn(reported.OutputTokens, output) // hidden reasoning included
	return reported
}

// mostReported is how many counters of a usage are kept, more than any provider has.
const mostReported = 64

// Reported are the numbers above 0 of a usage by their names, those of nested objects joined by dots, without the ones that
// are known: a JSON object, or nil. Of a usage that was reported several times the largest numbers count.
func Reported(known []string, usages ...json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(usages, func(usage json.RawMessage) bool { return hasMore(usage, known) }) {
		return nil // as most
	}
	counters := map[string]float64{}
	for _, usage := range usages {
		collect(counters, "", usage, known)
	}
	if len(counters) == 0 {
		return nil
	}
	text, err := json.Marshal(counters)
	if err != nil { // names and finite numbers always are JSON
		return nil
	}
	return text
}

// Counters visits all values of a usage, those of nested objects by names joined with dots.
func Counters(usage []byte, visit func(name, value []byte)) {
	counters(make([]byte, 0, 64), usage, visit)
}

func counters(prefix, from []byte, visit func(name, value []byte)) {
	for name, value := range Members(from) {
		name = append(prefix, name...)
		if value[0] == '{' {
			counters(append(name, '.'), value, visit)
			continue
		}
		visit(name, value)
	}
}

// hasMore reports whether a usage may have numbers above 0 that are not known.
func hasMore(usage []byte, known []string) (more bool) {
	Counters(usage, func(name, value []byte) {
		more = more || '0' <= value[0] && value[0] <= '9' && string(value) != "0" && !slices.Contains(known, string(name))
	})
	return more
}

func collect(counters map[string]float64, prefix string, from json.RawMessage, known []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(from, &fields) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // the same ones are kept each time
		raw := fields[name]
		name = prefix + name
		if len(raw) > 0 && raw[0] == '{' && len(name) < 200 {
			collect(counters, name+".", raw, known)
			continue
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		before, again := counters[name]
		if err == nil && n > before && (again || len(counters) < mostReported) && !slices.Contains(known, name) {
			counters[name] = n
		}
	}
}

// Plausible reports whether a usage can be: of some input, whose parts it is not less than, and of some output where
// there was any.
func Plausible(u record.Usage, output int64) bool {
	return u.InputTokens > 0 && u.InputTokens <= MostTokens &&
		min(u.CachedTokens, u.CacheWriteTokens, u.CacheWrite1hTokens) >= 0 &&
		u.CachedTokens+u.CacheWriteTokens+u.CacheWrite1hTokens <= u.InputTokens &&
		u.OutputTokens >= 0 && u.OutputTokens <= MostTokens && (u.OutputTokens > 0 || output == 0)
}
