package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// told is a limit that an agent may be told, with the value under which runs are
// recorded and a tighter one.
type told struct{ path, recorded, target, literal string }

var toldLimits = []told{
	{"terminate.max_iterations", "5", "3", "5"},
	{"terminate.confidence.threshold", "0.9", "0.4", "0.9"},
	{"terminate.no_improvement.patience", "5", "3", "5"},
	{"terminate.timeout.after", "3h", "2h", "duration('3h')"},
	{"guards.absolute_max_iterations", "9", "7", "9"},
	{"guards.budget.calls", "20", "3", "20"},
}

// forms are all ways in which an expression can read a parameter.
func (l told) forms() []string {
	segments := strings.Split(l.path, ".")
	below := "section"
	for _, s := range segments[1:] {
		below += fmt.Sprintf("[%q]", s)
	}
	short := segments[len(segments)-1]
	indexed := `param`
	for _, s := range segments {
		indexed += fmt.Sprintf("[%q]", s)
	}
	return []string{
		"param." + l.path,
		"param." + short,
		fmt.Sprintf("param[%q]", l.path),
		fmt.Sprintf("param[%q]", short),
		indexed,
		"param.?" + short + ".orValue(null)",
		fmt.Sprintf("param[?%q].orValue(null)", l.path),
		fmt.Sprintf("param[%q + %q]", l.path[:4], l.path[4:]),
		fmt.Sprintf("[param.%s].map(section, %s)[0]", segments[0], below),
		fmt.Sprintf("[param].map(p, p[%q])[0]", l.path),
		fmt.Sprintf("{'a': param}.a[%q]", l.path),
		fmt.Sprintf("param.filter(k, k == %q).map(k, param[k])[0]", l.path),
		fmt.Sprintf("[1].map(param, .param[%q])[0]", l.path),
	}
}

const (
	toldLimitsOf = "terminate: {confidence: {threshold: 0.95}, max_iterations: 7, no_improvement: {patience: 6}, timeout: 4h}\nguards: {absolute_max_iterations: 8, budget: {calls: 30}}\n"
	toldJudged   = "evaluate: {confidence: double(size(output)) / 10.0}\n" + toldLimitsOf
)

// toldPlaces are all places from which what they read reaches the agent or the
// judge: X is read, V is whether it has the value of the recording.
var toldPlaces = map[string]string{
	"prompt":         "agent: {model: m}\nprompt: \"{{ X }}\"\n" + toldJudged,
	"whole param":    "agent: {model: m}\nprompt: \"{{ size(param) }}{{ X }}\"\n" + toldJudged,
	"system":         "agent: {model: m, system: \"{{ X }}\"}\nprompt: p\n" + toldJudged,
	"phase":          "agent: {model: m}\nphases: [{name: a, prompt: \"{{ X }}\"}]\n" + toldJudged,
	"phase's system": "agent: {model: m}\nphases: [{name: a, prompt: p, agent: {system: \"{{ X }}\"}}]\n" + toldJudged,
	"strategy":       "agent: {model: m}\npattern: multi_strategy\nstrategies: [{name: a, prompt: \"{{ X }}\", max_iterations: 6}]\n" + toldJudged,
	"late prompt":    "agent: {model: m}\nprompt: \"{{ iteration < 1 ? 'go' : V ? 'a' : 'b' }}\"\n" + toldJudged,
	"rubric":         "agent: {model: m}\nprompt: p\nevaluate: {judge: {model: j, rubric: \"{{ X }}\"}}\n" + toldLimitsOf,
	"feedback":       "agent: {model: m}\nprompt: '{{ feedback }}'\nevaluate: {confidence: '0.1', feedback: \"V ? 'a' : 'b'\"}\n" + toldLimitsOf,
	"a check":        "agent: {model: m}\nprompt: '{{ feedback }}'\nevaluate: {checks: [{name: a, expr: \"V\", feedback: no}, {name: b, expr: 'false', feedback: never}]}\n" + toldLimitsOf,
	"improvements":   "agent: {model: m}\nprompt: '{{ size(improvements) }}'\nevaluate: {checks: [{name: a, expr: \"V\", feedback: no}, {name: b, expr: 'false', feedback: never}]}\n" + toldLimitsOf,
	"failing":        "agent: {model: m}\nprompt: '{{ size(failing) }}'\nevaluate: {checks: [{name: a, expr: \"V\"}, {name: b, expr: 'false'}]}\n" + toldLimitsOf,
	"confidence":     "agent: {model: m}\nprompt: '{{ confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"previous":       "agent: {model: m}\nprompt: '{{ previous == null ? 0.0 : previous.confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"best":           "agent: {model: m}\nprompt: '{{ best == null ? 0.0 : best.confidence }}'\nevaluate: {confidence: \"V ? 0.1 : 0.2\"}\n" + toldLimitsOf,
	"history":        "agent: {model: m}\nprompt: '{{ size(history) > 0 ? string(history[0].feedback) : string(0) }}'\nevaluate: {confidence: '0.1', feedback: \"V ? 'a' : 'b'\"}\n" + toldLimitsOf,
}

const toldSuite = `suite: s
tasks: [{id: t, input: x}]
models:
  m: {provider: script, price: free, responses: ["aaa", "bb", "a", "dddd", "ccc", "cc", "c"]}
  j: {provider: script, price: free, after_last: repeat, responses: ['{"confidence": 0.5, "feedback": "x"}']}
configurations:
- {name: recorded, loop: l.yaml, set: {PATH: RECORDED}}
- {name: target, loop: l.yaml, set: {PATH: TARGET}}
`

// An agent or a judge that is told a limit, from any place and in any way, is
// never said to be exact under another value where it would have been sent
// something else; and the analysis before anything runs says so.
func TestWhoIsToldALimitIsNeverExact(t *testing.T) {
	differing := map[string]int{}
	limits := toldLimits
	if raceEnabled {
		limits = limits[:1]
	}
	for _, limit := range limits {
		for place := range toldPlaces {
			for _, form := range limit.forms() {
				name := fmt.Sprintf("%s of %s in %s", form, limit.path, place)
				if toldDiffers(t, name, limit, place, form) {
					differing[place]++
				}
			}
		}
	}
	for place := range toldPlaces {
		if all := len(limits) * len(toldLimits[0].forms()); differing[place] < all*3/4 {
			t.Errorf("%s: requests differ in %d of %d cases only: the test says little", place, differing[place], all)
		}
	}
}

// toldDiffers replays a loop that is told a limit, and says whether a live run
// was sent something else.
func toldDiffers(t *testing.T, name string, limit told, place, form string) bool {
	t.Helper()
	suite := strings.NewReplacer("PATH", limit.path, "RECORDED", limit.recorded, "TARGET", limit.target).Replace(toldSuite)
	form = strings.ReplaceAll(form, `"`, "'")
	loop := strings.NewReplacer("X", form, "V", fmt.Sprintf("(%s == %s)", form, limit.literal)).Replace(toldPlaces[place])
	files := fstest.MapFS{"s.yaml": {Data: []byte(suite)}, "l.yaml": {Data: []byte("loop: l\n" + loop)}}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil && strings.Contains(err.Error(), "the loop has no parameter") {
		return false // a short name of two parameters
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	task := &spec.Task{ID: "t", Input: "x"}
	recorded, live := loops[0].Run(t.Context(), "r", task, 1, nil), loops[1].Run(t.Context(), "r", task, 1, nil)
	before, after := doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[1].Loop
	differs := sentOther(recorded, live)
	for how, r := range map[string]*replay.Replay{"rendered": Replay(before, after), "declared": replay.New(before, after, replay.Options{})} {
		if result := r.Run(t.Context(), recorded, task); differs && result.Label() < replay.NeedsCalls {
			t.Errorf("%s, %s: %s after %d iterations", name, how, result.Label(), result.Iterations)
		}
	}
	if p := replay.AnalysePath(before, limit.path); differs && p.Class == replay.Replayed {
		t.Errorf("%s: analysed as %s: %s", name, p.Class, p.Why)
	}
	return differs
}

// sentOther says whether the agent or the judge was sent something else in an
// iteration that both runs made.
func sentOther(a, b *record.Run) bool {
	for i := range min(len(a.Iterations), len(b.Iterations)) {
		x, y := &a.Iterations[i], &b.Iterations[i]
		if x.Request != y.Request || len(x.Calls) != len(y.Calls) {
			return true
		}
		for k := range x.Calls {
			if x.Calls[k].Request != y.Calls[k].Request {
				return true
			}
		}
	}
	return false
}
