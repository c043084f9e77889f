package sweep

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/spec/spectest"
)

// axis reads path=values.
func axis(t testing.TB, text string) Axis {
	t.Helper()
	a, faults := AxisFrom("--parameter", text)
	spectest.Must(t, faults.Err())
	return a
}

// texts are the values of an axis as they are written.
func texts(a *Axis) string {
	var all []string
	for _, value := range a.Values {
		all = append(all, value.Text)
	}
	return strings.Join(all, " ")
}

// TestObserve: what recorded runs tell apart of each parameter, within the ends.
func TestObserve(t *testing.T) {
	recordings := []Recording{recorded(t, wide, run("a", 1, 0.2, 0.6, 0.9), run("b", 1, 0.2, 0.1)), recorded(t, wide, run("a", 1, 0.75))}
	loop := spectest.Loop(t, plain+"terminate: {any: [{name: good, confidence: {threshold: 0.5}}, {name: most, max_iterations: 4}, {timeout: 60s}, {no_improvement: {patience: 3}}]}\nguards: {circuit_breaker: {threshold: 3}}\n")
	for text, want := range map[string]string{
		"terminate.confidence.threshold=0.15..0.8":     "0.2 0.6 0.75 0.8",
		"terminate.good.threshold=0..1":                "0.1 0.2 0.6 0.75 0.9 1",
		"terminate.confidence.threshold=0.61..0.62":    "0.62",
		"terminate.good.min_iterations=2..9":           "2 3",
		"max_iterations=1..1000":                       "1 2 3",
		"terminate.most=1..2":                          "1 2",
		"terminate.no_improvement.patience=2..5":       "2 3",
		"terminate.no_improvement.min_delta=0.0..0.45": "0 0.30000000000000004 0.39999999999999997",
		"terminate.repeated={of: output, times: 2}":    "",
		"terminate.timeout=0s..150s":                   "1m0s 2m0s 2m30s",
		"terminate.timeout.after=90..1000":             "2m0s 3m0s 16m40s",
		"guards.budget.tokens=1..25":                   "10 20 25",
		"guards.budget.calls=2..3":                     "2 3",
		"guards.budget.cost_usd=0.5..2":                "1 2",
		"guards.circuit_breaker.threshold=1..9":        "1 2 3",
		"guards.absolute_max_iterations=2..50":         "2 3",
		"guards.degradation.window=2..9":               "2 3",
	} {
		a := axis(t, text)
		if want == "" {
			want = texts(&a) // values stay
		}
		if err := a.Observe(loop, recordings); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := texts(&a); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestObserveSteps: what counts steps, or turns of a user, is told apart by those,
// though a run has few iterations.
func TestObserveSteps(t *testing.T) {
	talks := run("a", 1, 0.2, 0.6)
	talks.Run.Iterations[0].Steps = []record.Step{{}, {User: "and?"}, {User: "oh"}}
	talks.Run.Iterations[1].Steps = []record.Step{{User: "why?"}, {}}
	const agent = "agent: {model: m, memory: {max_tokens: 100}}\nprompt: hello\nevaluate: {confidence: '0.5'}\n"
	loop := spectest.Loop(t, agent+"user: {script: \"['a', 'b']\"}\nguards: {stagnation: {window: 3, scope: step}, circuit_breaker: {threshold: 3}, "+
		"repeated: [{name: said, of: step.text, times: 2, scope: step}, {name: same, of: output, times: 2}]}\n")
	for text, want := range map[string]string{
		"agent.max_steps=1..100":                "1 2 3",
		"user.max_turns=1..100":                 "1 2",
		"guards.stagnation.window=2..100":       "2 3 4 5",
		"guards.stagnation.times=2..100":        "2 3 4 5",
		"guards.repeated.said.times=2..100":     "2 3 4 5",
		"guards.repeated.said.window=2..100":    "2 3 4 5",
		"guards.repeated.same.times=2..100":     "2",
		"guards.circuit_breaker.threshold=1..9": "1 2 3 4 5",
		"max_iterations=1..100":                 "1 2",
	} {
		a := axis(t, text)
		if err := a.Observe(loop, []Recording{{Runs: []Run{talks}}}); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := texts(&a); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What a copy of an axis has observed is no value of the axis itself.
func TestObserveLeavesOthersAlone(t *testing.T) {
	original := axis(t, "terminate.confidence.threshold=0..1")
	loop := spectest.Loop(t, plain+"terminate: {confidence: {threshold: 0.5}}\n")
	spectest.Must(t, original.Observe(loop, []Recording{recorded(t, wide, run("a", 1, 0.6))}))
	original.Values = slices.Grow(original.Values, 9)
	before := texts(&original)
	observed := original
	spectest.Must(t, observed.Observe(loop, []Recording{recorded(t, wide, run("a", 1, 0.2))}))
	if texts(&original) != before || texts(&observed) == before {
		t.Errorf("%s became %s; the copy has %s", before, texts(&original), texts(&observed))
	}
}

// TestObserveRefuses: parameters that nothing recorded is compared with.
func TestObserveRefuses(t *testing.T) {
	recordings := []Recording{recorded(t, wide, run("a", 1, 0.2))}
	for text, want := range map[string]string{
		"agent.temperature=0..1":         "nothing that is recorded tells values of agent.temperature apart",
		"max_iterations=0..0":            "want a whole number of at least 1",
		"terminate.timeoutt=1..2":        `unknown condition "timeoutt"`,
		"terminate.confidence.high=0..1": `unknown key "high"`,
	} {
		a := axis(t, text)
		if err := a.Observe(spectest.Loop(t, wide), recordings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestMoneyIsObservedExactly: fractions of a dollar are written as they are compared.
func TestMoneyIsObservedExactly(t *testing.T) {
	one := run("a", 1, 0.5, 0.5)
	one.Run.Iterations[0].Calls[0].Usage.Cost = 123_456_789_012
	a := axis(t, "guards.budget.cost_usd=0.01..0.5")
	if err := a.Observe(spectest.Loop(t, wide), []Recording{recorded(t, wide, one)}); err != nil || texts(&a) != "0.123456789012 0.5" {
		t.Error(texts(&a), err)
	}
}

// TestBeside: a parameter that needs another one of the sweep is probed and observed beside it, whether that has
// values or ends, and whichever is named first. Of ends both are probed: one may be what was recorded. What is wrong
// with either is told.
func TestBeside(t *testing.T) {
	base, recordings := spectest.Loop(t, wide), []Recording{recorded(t, wide, run("a", 1, 0.2, 0.5, 0.9))}
	for patience, probes := range map[string]int{"2": 4, "1..2": 5} {
		axes := []Axis{axis(t, "terminate.no_improvement.min_delta=0..0.5"), axis(t, "terminate.no_improvement.patience="+patience)}
		if loops, err := Probes(base, nil, axes); err != nil || len(loops) != probes {
			t.Errorf("patience %s: %d probes: %v", patience, len(loops), err)
		}
		if err := axes[0].Observe(Beside(base, axes, 0), recordings); err != nil || texts(&axes[0]) != "0 0.3 0.4" {
			t.Errorf("patience %s: %s: %v", patience, texts(&axes[0]), err)
		}
	}
	_, err := Probes(base, nil, []Axis{axis(t, "terminate.no_improvement.min_delta=0.1"), axis(t, "terminate.no_improvement.patience=x,off")})
	if err == nil || !strings.Contains(err.Error(), "got x") {
		t.Error("what is wrong with the other parameter:", err)
	}
}

// TestThinned: many values are thinned evenly, and that is told.
func TestThinned(t *testing.T) {
	var confidences []float64
	for i := range 1001 {
		confidences = append(confidences, float64(i)/1000)
	}
	a := axis(t, "terminate.confidence.threshold=0..1")
	spectest.Must(t, a.Observe(spectest.Loop(t, wide), []Recording{recorded(t, wide, run("a", 1, confidences...))}))
	if len(a.Values) != mostObserved || a.Observed != 1001 || a.Values[0].Text != "0" || a.Values[mostObserved-1].Text != "1" {
		t.Errorf("%d of %d values: %s", len(a.Values), a.Observed, texts(&a))
	}
	for i := 1; i < len(a.Values); i++ {
		low, _ := Number(a.Values[i-1].Text)
		if high, _ := Number(a.Values[i].Text); high-low < 0.004 || high-low > 0.007 {
			t.Fatalf("from %v to %v is no even step", low, high)
		}
	}
}

// Values that are named stand among those that were observed, by size, each once.
func TestRangesBesideValues(t *testing.T) {
	recordings := []Recording{recorded(t, wide, run("a", 1, 0.2, 0.4, 0.6, 0.8))}
	for text, want := range map[string]string{
		"terminate.max_iterations=1..3,off":             "1 2 3 off",
		"terminate.max_iterations=off,9,1..2":           "1 2 9 off",
		"terminate.max_iterations=1..2,2..3,3":          "1 2 3",
		"terminate.confidence.threshold=0.5..1,0.7":     "0.6 0.7 0.8 1",
		"terminate.confidence.threshold=0..0.3,0.7..1":  "0.2 0.3 0.8 1",
		"terminate.no_improvement.patience=1..2,off,3":  "1 2 3 off",
		"terminate.confidence.threshold=0.9,0.5..1,0.7": "0.6 0.7 0.8 0.9 1",
	} {
		a := axis(t, text)
		spectest.Must(t, a.Observe(spectest.Loop(t, wide), recordings))
		if got := texts(&a); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestNothingIsMissed: any value between the ends decides as one of the values that were observed.
func TestNothingIsMissed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var runs []Run
	for i := range 30 {
		var confidences []float64
		for range 1 + random.IntN(6) {
			confidences = append(confidences, float64(random.IntN(20))/20)
		}
		runs = append(runs, run(fmt.Sprint(i), 1, confidences...))
	}
	recordings := []Recording{recorded(t, plain+"max_iterations: 7\n", runs...)}
	for path, c := range map[string]struct {
		ends string
		draw func() any
	}{
		"terminate.confidence.threshold":     {"0..1", func() any { return random.Float64() }},
		"terminate.no_improvement.min_delta": {"0..1", func() any { return random.Float64() }},
		"guards.budget.tokens":               {"1..100", func() any { return int64(1 + random.IntN(100)) }},
		"guards.budget.cost_usd":             {"0.001..10", func() any { return 0.001 + 9*random.Float64() }},
		"terminate.timeout.after":            {"1..401", func() any { return seconds(1 + 400*random.Float64()) }},
	} {
		base := spectest.Loop(t, plain+"max_iterations: 7\nterminate: {timeout: {after: 9h, cancel: false}, no_improvement: {patience: 2}}\n")
		a := axis(t, path+"="+c.ends)
		spectest.Must(t, a.Observe(base, recordings))
		known := map[string]bool{}
		for _, value := range a.Values {
			known[decided(t, base, &a, value, recordings)] = true
		}
		for range 50 {
			value := source.New(nil, c.draw())
			if !known[decided(t, base, &a, value, recordings)] {
				t.Errorf("%s: %s decides as none of %s", path, value.Text, texts(&a))
			}
		}
	}
}

// decided is what a value makes of the runs.
func decided(t *testing.T, base *spec.Loop, a *Axis, value *source.Node, recordings []Recording) string {
	t.Helper()
	loop, faults := base.With(a.assignment(value))
	if loop == nil {
		t.Fatal(faults)
	}
	s, err := New(recordings, []Candidate{{Loop: loop}}, Options{})
	spectest.Must(t, err)
	var all []string
	for _, o := range outcomes(t, s, 0) {
		all = append(all, fmt.Sprint(o.Verdict, o.Iterations, o.Outcome.Reason, o.Outcome.Returned, o.Elapsed))
	}
	return strings.Join(all, " ")
}

// TestAxisFrom: a value is YAML, which may hold commas and dots.
func TestAxisFrom(t *testing.T) {
	for text, want := range map[string][]source.Kind{
		"p=1,2,off":                  {source.Int, source.Int, source.String},
		"p={of: output, times: 2},3": {source.Map, source.Int},
		`p="1..2"`:                   nil,
		"p=a..b":                     {source.String},
		"p=0.5":                      {source.Float},
	} {
		a := axis(t, text)
		var kinds []source.Kind
		for _, value := range a.Values {
			kinds = append(kinds, value.Kind)
		}
		if !reflect.DeepEqual(kinds, want) || (len(a.Between) > 0) != (want == nil) {
			t.Errorf("%s: %v, ends %v", text, kinds, a.Between)
		}
	}
	if a := axis(t, "p=1..3,off,6..9"); len(a.Between) != 2 || a.Between[1].From != 6 || texts(&a) != "off" {
		t.Errorf("%+v", a)
	}
	if a := axis(t, "p=500ms..1m"); a.Between[0].From != 0.5 || a.Between[0].To != 60 {
		t.Errorf("%+v", a.Between)
	}
	for _, text := range []string{"p", "p=", "=1", "p=]", "p=3..2", "p=1,3..2", "p= "} {
		if _, faults := AxisFrom("--parameter", text); faults.Err() == nil || faults[0].File.Name != "--parameter" {
			t.Errorf("%q: %v", text, faults)
		}
	}
}

// TestAxisOf: what a suite tunes.
func TestAxisOf(t *testing.T) {
	var tuned source.Named[spec.TuneRange]
	tree, _ := source.Parse(source.NewFile("s.yaml", []byte("max_iterations: [1, off]\nterminate.confidence.threshold: {from: 0.5, to: 0.9}\n")))
	if faults := source.Decode(tree, &tuned); faults.Err() != nil {
		t.Fatal(faults)
	}
	list, ends := AxisOf(&tuned[0]), AxisOf(&tuned[1])
	if list.Path != "max_iterations" || texts(&list) != "1 off" || len(ends.Between) != 1 || ends.Between[0].From != 0.5 || ends.Between[0].To != 0.9 || ends.At.Line != 2 {
		t.Errorf("%+v %+v", list, ends)
	}
}

// TestGrid: every combination, the last axis fastest, named as sweeps are, equal ones once.
func TestGrid(t *testing.T) {
	set, _ := spec.Setting{Path: "terminate.no_improvement.patience", Value: "2"}.Assign("--set")
	bases := []Base{{Name: "wide", Loop: spectest.Loop(t, wide)}}
	all, err := Grid(bases, []spec.Assignment{set}, []Axis{axis(t, "max_iterations=2,3"), axis(t, "terminate.confidence.threshold=off,0.5")})
	spectest.Must(t, err)
	want := []string{"patience=2,max_iterations=2,threshold=off", "patience=2,max_iterations=2,threshold=0.5",
		"patience=2,max_iterations=3,threshold=off", "patience=2,max_iterations=3,threshold=0.5"}
	if got := called(all); !slices.Equal(got, want) {
		t.Errorf("the candidates are %v", got)
	}
	last := all[3]
	if want := []spec.Param{{Path: "terminate.no_improvement.patience", Value: int64(2)}, {Path: "terminate.max_iterations", Value: int64(3)}, {Path: "terminate.confidence.threshold", Value: 0.5}}; !reflect.DeepEqual(last.Params, want) {
		t.Errorf("the parameters are %v", last.Params)
	}
	wider, err := Grid(bases, nil, []Axis{axis(t, "terminate.confidence.threshold=0.1,0.2"), axis(t, "max_iterations=1,2,3")})
	if got := called(wider); err != nil || got[2] != "threshold=0.1,max_iterations=3" || got[3] != "threshold=0.2,max_iterations=1" {
		t.Errorf("the candidates are %v, %v", got, err)
	}
	if limit, _, _ := last.Declared().EffectiveMax(); limit != 3 {
		t.Error("the limit is", limit)
	}
	twice := append(bases, Base{Name: "same", Loop: spectest.Loop(t, wide)}, Base{Name: "other", Loop: spectest.Loop(t, plain)})
	all, err = Grid(twice, nil, []Axis{axis(t, "terminate.confidence=off"), axis(t, "max_iterations=2,2")})
	if got := called(all); err != nil || !slices.Equal(got, []string{"wide@confidence=off,max_iterations=2"}) {
		t.Errorf("equal candidates are %v, %v", got, err)
	}
	all, err = Grid(twice, nil, nil)
	if got := called(all); err != nil || !slices.Equal(got, []string{"wide", "other"}) {
		t.Errorf("without axes they are %v, %v", got, err)
	}
}

func called(all []Candidate) (found []string) {
	for _, c := range all {
		found = append(found, c.Name)
	}
	return found
}

// TestGridRefuses: what is too large is not made, and the count is exact however large.
func TestGridRefuses(t *testing.T) {
	bases := []Base{{Name: "wide", Loop: spectest.Loop(t, wide)}}
	thousand := make([]string, 1000)
	for i := range thousand {
		thousand[i] = fmt.Sprint(i + 1)
	}
	var axes []Axis
	for i := range 8 {
		axes = append(axes, axis(t, fmt.Sprintf("p%d=%s", i, strings.Join(thousand[:1000-i], ","))))
	}
	_, err := Grid(bases, nil, axes)
	var many *TooMany
	if !errors.As(err, &many) || many.Count != "972,320,046,755,881,062,960,000" {
		t.Fatal(err)
	}
	if want := "narrow it: p0 has 1,000 values, p1 has 999 values"; !strings.HasPrefix(many.Hint(), want) {
		t.Error(many.Hint())
	}
	if _, err := Grid(bases, nil, []Axis{axis(t, "max_iterations=1"), axis(t, "terminate.max_iterations=2")}); err == nil || !strings.Contains(err.Error(), "swept twice") {
		t.Error("a parameter that is swept twice:", err)
	}
	three, _ := spec.Setting{Path: "max_iterations", Value: "3"}.Assign("--set")
	if _, err := Grid(bases, []spec.Assignment{three}, []Axis{axis(t, "terminate.max_iterations=2")}); err == nil || !strings.Contains(err.Error(), "both set and swept") {
		t.Error("a parameter that is set and swept:", err)
	}
	if _, err := Grid(bases, []spec.Assignment{three, three}, nil); err == nil || !strings.Contains(err.Error(), "set twice") {
		t.Error("a parameter that is set twice:", err)
	}
	var faults source.Faults
	if _, err := Grid(bases, nil, []Axis{axis(t, "max_iterations=1,2,x")}); !errors.As(err, &faults) || faults[0].Pos.Col != 20 {
		t.Error("a value that is none:", err)
	}
}

// TestNeedsTexts: runs without texts serve where nothing reads them, nothing cuts within an iteration, and the path is
// the same.
func TestNeedsTexts(t *testing.T) {
	base := spectest.Loop(t, wide)
	for text, needs := range map[string]bool{
		wide:                          false,
		plain + "max_iterations: 2\n": false,
		plain + "terminate: {repeated: {of: output, times: 2}}\n":          true,
		plain + "terminate: {timeout: 5s}\n":                               true,
		plain + "terminate: {timeout: {after: 5s, cancel: false}}\n":       false,
		plain + "guards: {budget: {tokens: 5}}\n":                          false,
		plain + "guards: {budget: {tokens: 5, hard: true}}\n":              true,
		strings.Replace(plain, "hello", "other", 1):                        true,
		strings.Replace(plain, "'0.5'", "'0.7'", 1):                        true,
		plain + "guards: {repeated_output: true}\n":                        false,
		plain + "terminate: {when: 'confidence > 0.5 && iteration > 1'}\n": false,
	} {
		if why := NeedsTexts(base, spectest.Loop(t, text)); (why != "") != needs {
			t.Errorf("%q: %q", text, why)
		}
	}
}

// TestUntold: a loop that goes by what no run tells cannot be replayed.
func TestUntold(t *testing.T) {
	silent := run("a", 1, 0.5)
	silent.Run.Usage.Unreported, silent.Run.Untimed = 1, true
	recordings := []Recording{recorded(t, wide, silent, run("b", 1, 0.5))}
	for text, want := range map[string]string{
		wide:                                     "",
		plain + "guards: {budget: {calls: 5}}\n": "",
		plain + "guards: {budget: {tokens: 5}}\n":                              "guards.budget.tokens goes by tokens, which 1 of 2 recorded runs do not tell",
		plain + "guards: {budget: {cost_usd: 5}}\n":                            "guards.budget.cost_usd goes by cost, which 1 of 2 recorded runs do not tell",
		plain + "terminate: {any: [{all: [{when: passed}, {timeout: 5s}]}]}\n": "a timeout goes by time, which 1 of 2 recorded runs do not tell",
		plain + "terminate: {timeout: off}\n":                                  "",
	} {
		if got := MissingSignals(spectest.Loop(t, text), recordings); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	instant := []Recording{recorded(t, wide, run("c", 1, 0.5))}
	if got := MissingSignals(spectest.Loop(t, plain+"terminate: {timeout: 5s}\n"), instant); got != "" {
		t.Errorf("no time at all is known: %q", got)
	}
}
