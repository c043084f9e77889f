package record

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sampleRun is a finished run of that many iterations, the kind the loop makes.
func sampleRun(number, iterations int) *Run {
	r := &Run{
		Version: Version, ID: RunID("default", fmt.Sprint("task-", number), 1),
		Configuration: "default", Task: fmt.Sprint("task-", number), Trial: 1, Loop: "0123456789abcdef",
		Outcome: Outcome{
			Status: Completed, Reason: ReasonConfidence, Class: ByCondition, Fired: "confidence",
			Held: []string{"confidence"}, Success: true, Returned: iterations,
		},
		Volatile: Volatile{Started: time.Unix(1e9, 0).UTC(), Wall: time.Millisecond, Cached: iterations},
	}
	for n := range iterations {
		it := sampleIteration(n)
		r.Iterations = append(r.Iterations, it)
		agent, judging := it.Spent()
		r.Usage, r.Judging = r.Usage.Plus(agent), r.Judging.Plus(judging)
		r.Elapsed = it.End
	}
	return r
}

func sampleIteration(n int) Iteration {
	start := time.Duration(n) * 200 * time.Millisecond
	return Iteration{
		N: n + 1, Request: "fedcba9876543210",
		Output:     json.RawMessage(`"The answer is 42, because of the question that was asked."`),
		Evaluation: &Evaluation{Confidence: 0.9, Passed: true, Feedback: "fine"},
		Calls: []Call{{
			Role: RoleAgent, Model: "small", Request: "fedcba9876543210",
			Usage:    Usage{Calls: 1, InputTokens: 100, OutputTokens: 20, Cost: 12345678},
			Start:    start,
			Duration: 200 * time.Millisecond, Finish: "stop",
		}},
		Start: start, End: start + 200*time.Millisecond, Working: 200 * time.Millisecond,
	}
}

func sampleScores(r *Run) []Score {
	return []Score{{Run: r.ID, Name: "exact", Value: 1, Answer: "42", Scorer: "0011223344556677"}}
}

// anyOf draws values of a type with every field set to anything that a record
// may hold, also fields that are added later.
func anyOf[V any](t *rapid.T) V {
	generator := rapid.MakeCustom[V](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[json.RawMessage](): rapid.Custom(drawJSON).AsAny(),
			reflect.TypeFor[time.Time]():       rapid.Custom(drawTime).AsAny(),
			reflect.TypeFor[*Run]():            rapid.Custom(drawDelegated).AsAny(),
			reflect.TypeFor[*Digest]():         rapid.Just[any]((*Digest)(nil)), // records alone have them
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.Float64: rapid.Custom(drawNumber).AsAny(),
			reflect.String:  rapid.Custom(drawText).AsAny(),
		},
	})
	v := generator.Draw(t, "value")
	dropEmpty(reflect.ValueOf(&v))
	return v
}

func drawJSON(t *rapid.T) json.RawMessage {
	return json.RawMessage(rapid.SampledFrom([]string{
		"", `null`, `"text"`, `""`, `"<b>&"`, `{"a":[1,2.5,{"b":null}]}`, `[]`, `-0`, `"\u2028\ufffd"`, `"é中"`,
	}).Draw(t, "json"))
}

// drawDelegated draws the run of a delegate, which has none of its own here.
func drawDelegated(t *rapid.T) *Run {
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	return &Run{ID: drawText(t), Iterations: []Iteration{{N: 1, Output: drawJSON(t), Thinking: drawText(t)}}}
}

func drawTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
}

func drawNumber(t *rapid.T) float64 {
	return rapid.Float64().Filter(func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }).Draw(t, "number") + 0
}

// drawText also draws texts that are not UTF-8, or need escapes.
func drawText(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}), rapid.SampledFrom([]string{"", "plain", "\u2028\"\\\x00\x7f\b\f", "\ufffd", "\xff\xfe", "<&>"})).Draw(t, "text")
}

// dropEmpty turns empty lists into nil ones: JSON does not tell them apart where
// they may be left out.
func dropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dropEmpty(v.Elem())
		}
	case reflect.Slice:
		if v.Len() == 0 && v.CanSet() {
			v.SetZero()
		}
		for i := range v.Len() {
			dropEmpty(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				dropEmpty(v.Field(i))
			}
		}
	}
}

// sampleFolder is a result folder with that many runs and their scores.
func sampleFolder(t testing.TB, runs int) string {
	t.Helper()
	dir := t.TempDir()
	j, err := Create(dir, Manifest{Suite: "sample"}, Options{})
	must(t, err)
	for n := range runs {
		run := sampleRun(n, 1+n%3)
		must(t, j.Append(run, sampleScores(run), nil))
	}
	must(t, j.Close())
	return dir
}
