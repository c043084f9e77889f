package scorers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// outside is a suite whose programs start in a folder and whose endpoints are reached through a transport.
type outside struct {
	folder    string
	transport http.RoundTripper
	models    models
}

func (o outside) Model(name string) (model.Model, error) {
	if m := o.models[name]; m != nil {
		return m, nil
	}
	return nil, errors.New("unknown model " + name)
}

func (o outside) Program(argv []string, timeout time.Duration) external.Program {
	return external.Program{Argv: argv, Dir: o.folder, Env: external.Environment(os.Getenv), Timeout: timeout, Confinement: &external.Confinement{}}
}

func (o outside) Workspaces(*spec.Loop) (*agent.Workspaces, error) { return nil, nil }

func (o outside) Endpoint(url string, headers spec.Headers) (external.Endpoint, error) {
	values := headers.Values(func(string) string { return "" })
	return external.Endpoint{URL: url, Headers: values, Client: &http.Client{Transport: o.transport}}, nil
}

// setWith is a set of scorers that have somebody to ask.
func setWith(t testing.TB, o Outside, yaml string) *Set {
	t.Helper()
	s, faults := New(decoded(t, yaml), Options{Outside: o})
	if err := faults.Err(); err != nil {
		t.Fatalf("%s\n%v", yaml, err)
	}
	return s
}

// bySh is what a scorer makes of a run whose program is a script of sh.
func bySh(t *testing.T, script, more string) string {
	t.Helper()
	o := outside{folder: t.TempDir()}
	must(t, os.WriteFile(o.folder+"/score.sh", []byte(script), 0o600))
	s := setWith(t, o, "- {name: s, type: command, command: [sh, score.sh]"+more+"}")
	return shown(s.Score(t.Context(), task(t, `"the target"`), run(`"the output"`))[0])
}

// answers is a server on the loopback that gives one answer.
func answers(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What a program writes and what an endpoint answers are read alike.
func TestWhatIsAnswered(t *testing.T) {
	for _, c := range []struct{ answer, more, want string }{
		{`0.25`, ``, `0.25 (the output)`},
		{` 1 `, ``, `1 (the output)`},
		{`true`, ``, `1 (the output)`},
		{`false`, ``, `0 (the output)`},
		{`false`, `, not: true`, `1 (the output)`},
		{`{"score": 0.5, "answer": "2 of 4", "explanation": "tests 3 and 4 fail"}`, ``, `0.5 (2 of 4): tests 3 and 4 fail`},
		{`{"score": true, "answer": null, "explanation": null, "unscored": null, "took": 3}`, ``, `1 (the output)`},
		{`{"score": 7, "answer": 7}`, `, range: [1, 10]`, `0.6667 (7)`},
		{`{"score": 7}`, `, range: [1, 10]`, `0.6667 (7)`},
		{`3`, `, range: [10, 1]`, `0.7778 (3)`},
		{`{"unscored": "no tests for this task"}`, ``, `unscored: no tests for this task`},
		{`{"score": 1, "unscored": "no tests for this task"}`, ``, `unscored: no tests for this task`},
	} {
		expect.Equal(t, c.answer, bySh(t, "cat <<'.'\n"+c.answer+"\n.\n", c.more), c.want)
		s := setWith(t, outside{}, "- {name: s, type: http, url: '"+answers(t, 200, c.answer)+"'"+c.more+"}")
		expect.Equal(t, c.answer, shown(s.Score(t.Context(), task(t, `1`), run(`"the output"`))[0]), c.want)
	}
}

// F80: what is no score is unscored, with the reason, and never 0.
func TestF80_AnswersThatAreNoScores(t *testing.T) {
	for answer, want := range map[string]string{
		``:                                `reading the answer: it is empty; want a number or {"score": 0.5}`,
		`The code is fine.`:               "reading the answer: it is not JSON: at byte 1: invalid character 'T' at start of value",
		`NaN`:                             "reading the answer: it is not JSON: at byte 1: invalid character 'N' at start of value",
		`{"score": Infinity}`:             "reading the answer: it is not JSON: at byte 11: invalid character 'I' at start of value",
		`1e999`:                           "",
		`0.5 0.6`:                         "",
		`7`:                               "scorer s gave 7, which is not between 0 and 1",
		`-0.1`:                            "scorer s gave -0.1, which is not between 0 and 1",
		`{"score": 2}`:                    "scorer s gave 2, which is not between 0 and 1",
		`"1"`:                             "reading the answer: its score is neither a number nor true or false",
		`null`:                            "reading the answer: its score is neither a number nor true or false",
		`[1]`:                             "reading the answer: its score is neither a number nor true or false",
		`{"score": "1"}`:                  "reading the answer: its score is neither a number nor true or false",
		`{"scroe": 1}`:                    "reading the answer: it has neither score nor unscored",
		`{"score": 1, "explanation": []}`: "reading the answer: its explanation is not a text",
		`{"unscored": true}`:              "reading the answer: its unscored is not a text",
	} {
		got := bySh(t, "cat <<'.'\n"+answer+"\n.\n", "")
		if !strings.HasPrefix(got, "unscored: "+want) {
			t.Errorf("%s: got %s, want unscored: %s", answer, got, want)
		}
	}
}

// F30, F31: whatever becomes of a program, the run is unscored, and says why.
func TestF31_ProgramsThatDoNotScore(t *testing.T) {
	for script, want := range map[string]string{
		"echo 1; echo 'no module named tests' >&2; exit 3": `the program "sh" failed: exit status 3: no module named tests`,
		"kill -9 $$":           `the program "sh" failed: signal: killed`,
		"yes | head -c 300000": `the program "sh" wrote 300000 bytes; 262144 are allowed`,
	} {
		expect.Equal(t, script, bySh(t, script, ""), "unscored: "+want)
	}
	s := setWith(t, outside{folder: t.TempDir()}, "- {name: s, type: command, command: [no-such-program]}")
	if got := shown(s.Score(t.Context(), nil, run(`1`))[0]); got != `unscored: the program "no-such-program" was not found; is it installed and on PATH?` {
		t.Errorf("got %s", got)
	}
}

// F30: a program that hangs is killed at its timeout, with its children.
func TestF30_AScorerThatHangs(t *testing.T) {
	if got := bySh(t, "sleep 300 & echo 1; wait", ", timeout: 300ms"); got != `unscored: the program "sh" took longer than 300ms and was killed` {
		t.Errorf("got %s", got)
	}
}

// What is asked is told the run, the task with its target, and what is to be judged.
func TestWhatThoseWhoAreAskedAreTold(t *testing.T) {
	echo := "cat >request; echo 1"
	o := outside{folder: t.TempDir()}
	must(t, os.WriteFile(o.folder+"/score.sh", []byte(echo), 0o600))
	of := task(t, `{"answer": 4}`)
	metadata := expr.NewObject(1)
	metadata.Set("level", "easy")
	of.Input, of.Vars, of.Metadata = "2 + 2?", expr.NewObject(0), metadata
	for more, want := range map[string]string{
		"": `{"task":{"id":"t","input":"2 + 2?","vars":{},"metadata":{"level":"easy"},"target":{"answer":4}},"trial":1,"iteration":2,"output":{"answer":"4."},"target":{"answer":4},"run":"default/t/1","configuration":"default"}`,
		", value: output.answer, target: target.answer": `{"task":{"id":"t","input":"2 + 2?","vars":{},"metadata":{"level":"easy"},"target":{"answer":4}},"trial":1,"iteration":2,"output":{"answer":"4."},"target":4,"value":"4.","run":"default/t/1","configuration":"default"}`,
	} {
		s := setWith(t, o, "- {name: s, type: command, command: [sh, score.sh]"+more+"}")
		if got := shown(s.Score(t.Context(), of, run(`"no"`, `{"answer": "4."}`))[0]); !strings.HasPrefix(got, "1 ") {
			t.Fatal(got)
		}
		request, err := os.ReadFile(o.folder + "/request")
		if err != nil || string(request) != want {
			t.Errorf("told\n%s\nwant\n%s (%v)", request, want, err)
		}
	}
}

// What was done, iteration by iteration, is told to those who judge it.
func TestThoseWhoAreAskedAreToldTheIterations(t *testing.T) {
	o := outside{folder: t.TempDir()}
	s := setWith(t, o, "- {name: s, type: command, value: iterations, command: [sh, -c, 'cat >request; echo 1']}")
	if got := shown(s.Score(t.Context(), task(t, `1`), course(`find{"id":7} send!`, `done`))[0]); !strings.HasPrefix(got, "1 ") {
		t.Fatal(got)
	}
	text, err := os.ReadFile(o.folder + "/request")
	must(t, err)
	type call struct {
		Tool      string
		Arguments map[string]any
		Error     string
	}
	var request struct {
		Value []struct {
			Iteration int
			Output    string
			ToolCalls []call `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(text, &request); err != nil || len(request.Value) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	first := request.Value[0]
	if first.Iteration != 1 || first.Output != "x" || len(first.ToolCalls) != 2 || first.ToolCalls[0].Tool != "find" || first.ToolCalls[0].Arguments["id"] != 7.0 {
		t.Errorf("told %s", text)
	}
}

// An endpoint that fails for a while is asked again; one that goes on to fail leaves the run unscored.
func TestF13_AnEndpointIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		want     string
		asked    int
	}{
		"once":           {[]int{503, 200}, "1 (x)", 2},
		"always":         {[]int{503}, "unscored: the endpoint: HTTP 503: no", 4},
		"not found":      {[]int{404}, "unscored: the endpoint: HTTP 404: no", 1},
		"no key":         {[]int{401}, "unscored: the endpoint: HTTP 401: no", 1},
		"hangs":          {[]int{0}, "unscored: the endpoint: the endpoint took longer than 1m0s", 4},
		"hangs for once": {[]int{0, 200}, "1 (x)", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &statuses{list: c.statuses}
				s := setWith(t, outside{transport: transport}, "- {name: s, type: http, url: 'http://127.0.0.1/'}")
				if got := shown(s.Score(t.Context(), nil, run(`"x"`))[0]); got != c.want || transport.asked != c.asked {
					t.Errorf("got %s after %d requests, want %s after %d", got, transport.asked, c.want, c.asked)
				}
			})
		})
	}
}

// statuses answers with one status after the other, the last again and again; 0 is no answer.
type statuses struct {
	list  []int
	asked int
}

func (s *statuses) RoundTrip(r *http.Request) (*http.Response, error) {
	status := s.list[min(s.asked, len(s.list)-1)]
	s.asked++
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body := "no"
	if status == 200 {
		body = "true"
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A suite that ends leaves what asks unscored, with the reason of its end.
func TestACancelledScorerIsUnscored(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	s := setWith(t, outside{folder: t.TempDir()}, "- {name: s, type: command, command: [echo, '1']}\n- {name: e, type: exact}")
	scores := s.Score(ctx, task(t, `"x"`), run(`"x"`))
	expect.Equal(t, "the one that asks", shown(scores[0]), "unscored: interrupted")
	expect.Equal(t, "the one that does not", shown(scores[1]), "1 (x)")
}

// Who says nothing of it judges what is returned, and nothing of an output that is empty.
func TestThoseWhoAreAskedJudgeWhatIsReturned(t *testing.T) {
	const scorer = "- {name: s, type: command, command: [echo, '1']"
	o := outside{folder: t.TempDir()}
	for more, want := range map[string]string{"}": "s 0 1 (b)", ", score: every_iteration}": "s 0 1 (b)\ns 1 1 (a)\ns 2 1 (b)"} {
		if got := shownAll(setWith(t, o, scorer+more).Score(t.Context(), nil, run(`"a"`, `"b"`))); strings.TrimSpace(got) != want {
			t.Errorf("%s: got\n%s", more, got)
		}
	}
	expect.Equal(t, "an empty output", shown(setWith(t, o, scorer+"}").Score(t.Context(), nil, run(`" "`))[0]), "0 (none)")
	expect.Equal(t, "nobody to ask", shown(set(t, scorer+"}").Score(t.Context(), nil, run(`"a"`))[0]), "unscored: no model is configured")
}

// Whatever is answered, a score is between 0 and 1 or says why it is not there, and can be written.
func FuzzSaid(f *testing.F) {
	for _, answer := range []string{"", "1", "NaN", `{"score": 0.5, "answer": [1], "explanation": "x"}`, `{"score": 1e308}`, `{"unscored": "y"}`, "\xff"} {
		f.Add([]byte(answer))
	}
	var answer []byte
	c := compiler{all: &compilation{}, spec: &spec.Scorer{Name: "s", Type: "command"}}
	compare := c.asked(func(context.Context, []byte) ([]byte, error) { return answer, nil })
	f.Fuzz(func(t *testing.T, text []byte) {
		answer = text
		score, _ := (&scorer{Version: Version{Name: "s"}, compare: compare}).score(t.Context(), newSubject(nil, run(`"x"`), false))
		if score.Unscored == "" && !(score.Value >= 0 && score.Value <= 1) || strings.HasPrefix(score.Unscored, "panic") {
			t.Errorf("%q: %+v", text, score)
		}
		if _, err := json.Marshal(score); err != nil {
			t.Error(err)
		}
	})
}

// F80: an output with nothing in it is worth 0 and has no answer, by every scorer that judges an answer, under not as
// well; nobody is asked.
func TestF80_AnEmptyOutputIsNoAnswer(t *testing.T) {
	judged := 0
	for name := range makers() {
		kind := (&spec.Scorer{Type: name}).Kind()
		if !kind.Answer || kind.Pairs || name == "checks" {
			continue
		}
		judged++
		for _, not := range []string{"", ", not: true"} {
			s := setWith(t, outside{}, "- {name: s, type: "+string(name)+", score: returned"+needed[string(name)]+not+"}")
			for _, output := range []string{``, `""`, `" \n"`, `null`} {
				if got := shown(s.Score(t.Context(), task(t, `"x"`), run(output))[0]); got != "0 (none)" {
					t.Errorf("%s%s: %q: %s", name, not, output, got)
				}
			}
		}
	}
	if judged < 15 {
		t.Errorf("%d types judge answers", judged)
	}
}

// needed are the keys that types of scorers cannot do without.
var needed = map[string]string{
	"regex": ", pattern: x", "json_schema": ", schema: {}", "json_path": ", expr: 'true'", "word_count": ", min: 0",
	"command": ", command: [no-such-program]", "http": ", url: 'http://127.0.0.1/'", "judge": ", model: j, rubric: r",
}

var must = expect.NoError
