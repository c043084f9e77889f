package scorers

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// judging is an outside in which models judge.
func judging(by models) Outside { return outside{models: by} }

type models map[string]model.Model

// counted is a judge whose answers follow one another, and that keeps what it was asked.
type counted struct {
	mu    sync.Mutex
	asked []*model.Request
}

func (c *counted) Call(_ context.Context, r *model.Request) (*model.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r)
	text := fmt.Sprintf(`{"score": 0.%d, "explanation": "call %d"}`, len(c.asked), len(c.asked))
	return &model.Reply{Text: text, Finish: "stop", Usage: record.Usage{Calls: 1, OutputTokens: 5}}, nil
}

func scripted(scores ...string) model.Model {
	m := &offline.Script{Name: "j"}
	for _, s := range scores {
		m.All = append(m.All, spec.Answer{Text: `{"score": ` + s + `, "explanation": "it is ` + strings.Trim(s, `"`) + `"}`})
	}
	return m
}

const quality = `- {name: quality, type: judge, model: j, rubric: "Is it {{ task.id }}?"}`

// A judge is asked once of a run: of the output that it returned.
func TestAJudgeJudgesWhatIsReturned(t *testing.T) {
	m := &counted{}
	s := setWith(t, judging(models{"j": m}), quality)
	r := run(`"a"`, `"b"`, `"c"`)
	r.Outcome.Returned = 2
	scores := s.Score(t.Context(), task(t, `"x"`), r)
	expect.Equal(t, "result", shownAll(scores), "quality 0 0.1 (0.1): call 1")
	want := record.Score{
		Run: r.ID, Name: "quality", Scorer: scores[0].Scorer, Value: 0.1, Answer: "0.1", Explanation: "call 1",
		Votes: []record.Vote{{Value: 0.1, Answer: "0.1", Explanation: "call 1"}}, Usage: record.Usage{Calls: 1, OutputTokens: 5},
	}
	if !reflect.DeepEqual(scores[0], want) {
		t.Errorf("got  %+v\nwant %+v", scores[0], want)
	}
	text := m.asked[0].Messages[0].Text + m.asked[0].Messages[1].Text
	if !strings.Contains(text, "\nIs it t?") || !strings.Contains(text, "===\nb\n===") || strings.Contains(text, "x\n===") {
		t.Errorf("it was asked\n%s", text)
	}
	if d := m.asked[0].Draw; d.Task != r.Task || d.Trial != r.Trial || d.Iteration != 2 || d.Call != 0 {
		t.Errorf("the draw is %+v", d)
	}
}

// A judge is shown the images of the task; where one cannot be read, the run is not scored.
func TestAJudgeSeesTheImagesOfTheTask(t *testing.T) {
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x, images: ['data:image/gif;base64,R0lGODlh', a.gif]}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
		"a.gif":  {Data: []byte("GIF87a and more")},
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	must(t, faults.Err())
	m := &counted{}
	s := setWith(t, judging(models{"j": m}), quality)
	for _, gone := range []bool{false, true} {
		if gone {
			delete(files, "a.gif")
		}
		for task, err := range doc.Tasks() {
			must(t, err)
			got := shownAll(s.Score(t.Context(), task, run(`"a"`)))
			if want := map[bool]string{false: "quality 0 0.1 (0.1): call 1", true: "file not found: a.gif"}[gone]; !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	images := m.asked[0].Messages[1].Images
	if len(m.asked) != 1 || len(images) != 2 || images[0].Type != "image/gif" || string(images[0].Data) != "GIF89a" || string(images[1].Data) != "GIF87a and more" {
		t.Errorf("asked %d times, shown %+v", len(m.asked), images)
	}
}

// Iterations are judged where that is declared or asked for. What was asked for once stands once.
func TestAJudgeOfIterations(t *testing.T) {
	every := strings.Replace(quality, "type: judge", "type: judge, score: every_iteration", 1)
	when := strings.Replace(quality, "type: judge", "type: judge, score: when_asked", 1)
	r := run(`"a"`, `"b"`, `"c"`)
	r.Outcome.Returned = 2
	scores := setWith(t, judging(models{"j": scripted("0.1", "0.2", "0.3")}), every).Score(t.Context(), task(t, ""), r)
	lines := "quality 0 0.2 (0.2): it is 0.2\nquality 1 0.1 (0.1): it is 0.1\nquality 2 0.2 (0.2): it is 0.2\nquality 3 0.3 (0.3): it is 0.3"
	expect.Equal(t, "every iteration", shownAll(scores), lines)
	calls := func(scores []record.Score) (told []int64) {
		for _, s := range scores {
			told = append(told, s.Usage.Calls, int64(len(s.Votes)))
		}
		return told
	}
	expect.Equal(t, "calls and votes", calls(scores), []int64{1, 1, 1, 1, 0, 0, 1, 1})
	lazy := setWith(t, judging(models{"j": scripted("0.1", "0.2", "0.3")}), when)
	expect.Equal(t, "unasked", shownAll(lazy.Score(t.Context(), task(t, ""), r)), "quality 0 0.2 (0.2): it is 0.2")
	scores = lazy.At(t.Context(), task(t, ""), r, 0, 1, 2, 3)
	expect.Equal(t, "asked", shownAll(scores), lines)
	expect.Equal(t, "asked: calls and votes", calls(scores), []int64{1, 1, 1, 1, 0, 0, 1, 1})
}

// Votes are different draws, and judged again each is the same one: no call is made. Equal outputs are judged alike.
func TestJudgedAgainEveryVoteIsInTheCache(t *testing.T) {
	inner := &counted{}
	store := cache.Open(t.TempDir(), cache.Options{})
	outside := judging(models{"j": cache.Wrap(inner, store, cache.Identity{Provider: "openai", Model: "m"}, cache.On)})
	s := setWith(t, outside, `- {name: quality, type: judge, model: j, votes: 3, rubric: r, score: every_iteration}`)
	r := run(`"a"`, `"b"`, `"a"`)
	r.Outcome.Returned = 3
	first := s.Score(t.Context(), task(t, ""), r)
	if len(inner.asked) != 6 || len(first[0].Votes) != 3 || first[0].Votes[0].Value == first[0].Votes[1].Value {
		t.Fatalf("%d calls: %s", len(inner.asked), shownAll(first))
	}
	again := s.At(t.Context(), task(t, ""), r, 1, 2, 3)
	if len(inner.asked) != 6 {
		t.Errorf("%d calls were made again", len(inner.asked)-6)
	}
	for i := range again {
		if again[i].Usage.Calls != 3 || !again[i].Votes[2].Cached {
			t.Errorf("from the cache: %+v", again[i])
		}
	}
	if first[1].Value != first[3].Value || first[1].Value == first[2].Value || again[0].Value != first[3].Value || again[1].Value != first[2].Value {
		t.Errorf("first\n%s\nagain\n%s", shownAll(first), shownAll(again))
	}
}

// What cannot be judged is asked of nobody.
func TestWhatNobodyIsAsked(t *testing.T) {
	for _, c := range []struct{ scorer, output, want string }{
		{`rubric: r`, `" \n"`, "0 (none)"},
		{`rubric: r, not: true`, `""`, "0 (none)"},
		{`rubric: r, extract: '\d+'`, `"text"`, "0 (none)"},
		{`rubric: r, reference: true`, `"text"`, "unscored: the target is missing"},
		{`rubric: "as {{ target }}?"`, `"text"`, "unscored: the target is missing"},
		{`rubric: "{{ task.target }}?"`, `"text"`, "unscored: the target is missing"},
		{`rubric: r, value: output.what`, `{}`, `unscored: value: key "what" not found`},
		{`rubric: "{{ task.vars.x }}?"`, `"text"`, `unscored: rubric: key "x" not found`},
	} {
		m := &counted{}
		s := setWith(t, judging(models{"j": m}), "- {name: s, type: judge, model: j, "+c.scorer+"}")
		if got := shown(s.Score(t.Context(), task(t, ""), run(c.output))[0]); got != c.want || len(m.asked) != 0 {
			t.Errorf("%s: %s, %d calls; want %s", c.scorer, got, len(m.asked), c.want)
		}
	}
}

// What is declared of a judge decides what its answers make.
func TestOptionsOfJudges(t *testing.T) {
	for scorer, want := range map[string]string{
		`model: j, rubric: r, range: [1, 5]`:                                                         "0.75 (4): it is 4",
		`model: j, rubric: r, range: [5, 1], not: true`:                                              "0.75 (4): it is 4",
		`model: k, rubric: r, choices: {yes: 1, no: 0}`:                                              "1 (yes): it is yes",
		`model: k, rubric: r, choices: {yes: 0.25, no: 1}`:                                           "0.25 (yes): it is yes",
		`model: j, rubric: r, votes: 3, range: [0, 10], reduce: median`:                              "0.6 (6): it is 6",
		`models: [j, k], rubric: r, range: [0, 10]`:                                                  "0.4 (4): it is 4", // half of the votes suffice
		`model: k, rubric: r`:                                                                        "unscored: exhausted: the script \"j\" has 1 reply for task \"t\"; call 2 has none",
		`model: j, range: [0, 8], criteria: [{name: a, rubric: r}]`:                                  "0.5 (a 4): a 0.5: it is 4",
		`model: j, range: [0, 8], criteria: [{name: a, rubric: r}, {name: b, rubric: r, weight: 3}]`: "0.875 (a 4, b 8): a 0.5: it is 4; b 1: it is 8",
	} {
		s := setWith(t, judging(models{"j": scripted("4", "8", "6"), "k": scripted(`"yes"`)}), "- {name: s, type: judge, "+scorer+"}")
		expect.Equal(t, scorer, shown(s.Score(t.Context(), task(t, ""), run(`"x"`))[0]), want)
	}
}

func TestTemperatureAndLimitsReachTheJudge(t *testing.T) {
	m := &counted{}
	s := setWith(t, judging(models{"j": m}), `- {name: s, type: judge, model: j, rubric: r, temperature: 0.5, max_output_tokens: 99, reference: true}`)
	s.Score(t.Context(), task(t, `"TRUTH"`), run(`"x"`))
	r := m.asked[0]
	if *r.Temperature != 0.5 || r.MaxOutputTokens != 99 || !r.JSON || !strings.Contains(r.Messages[1].Text, "===\nTRUTH\n===") {
		t.Errorf("asked %+v", r)
	}
}

// Who cannot be asked is told before anything is run, and of the wanted scorers alone.
func TestWhoCannotBeAsked(t *testing.T) {
	s := setWith(t, judging(models{}), quality+"\n- {name: right, type: exact}")
	if err := s.Unable(); err == nil || err.Error() != `scorer "quality": unknown model j` {
		t.Errorf("got %v", err)
	}
	if err := s.Only(func(name string) bool { return name == "right" }).Unable(); err != nil {
		t.Error(err)
	}
	expect.Equal(t, "result", shown(s.Score(t.Context(), task(t, `"a"`), run(`"a"`))[0]), "unscored: unknown model j")
	want := []Version{
		{Name: "quality", Hash: s.Versions()[0].Hash, Asks: true, Judges: spec.ScoreReturned},
		{Name: "right", Hash: s.Versions()[1].Hash, Judges: spec.ScoreEveryIteration},
	}
	expect.Equal(t, "result", s.Versions(), want)
}
