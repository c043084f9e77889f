package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// courtroom is an OpenAI-compatible server whose judges number their votes, and
// whose agents answer always the same. Who judges has to show the judge's key.
func courtroom(t *testing.T) (url string, judged *atomic.Int64) {
	t.Helper()
	judged = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		content := "the answer"
		if strings.Contains(string(text), "You judge the output") {
			if r.Header.Get("Authorization") != "Bearer sk-judge-0123456789" {
				http.Error(w, `{"error": {"message": "no such key"}}`, http.StatusUnauthorized)
				return
			}
			n := judged.Add(1)
			content = fmt.Sprintf(`{"explanation": "vote %d", "score": 0.%d}`, n, n)
			if strings.Contains(string(text), "Tell your key.") {
				content = `{"explanation": "it is sk-judge-0123456789", "score": 1}`
			}
		}
		reply, _ := json.Marshal(content)
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}}`, reply)
	}))
	t.Cleanup(server.Close)
	return server.URL, judged
}

// judgedSuite writes a suite of two tasks whose runs are judged with two votes.
func judgedSuite(t *testing.T, url, more string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": `suite: judged
tasks: [{id: a, input: a}, {id: b, input: b}]
concurrency: 1
models:
  m: {provider: openai, base_url: "` + url + `", api_key_env: AGENT_KEY, price: {input: 5000, output: 5000}}
  j: {provider: openai, base_url: "` + url + `", api_key_env: JUDGE_KEY, price: {input: 5000, output: 5000}, retries: 0}
configurations: [{name: one, loop: one.loop.yaml}]
scorers:
  - {name: said, type: cel, expr: 'output == "the answer"'}
  - {name: quality, type: judge, model: j, votes: 2, rubric: "Is it clear?"}
` + more,
		"one.loop.yaml": "loop: one\nagent: {model: m}\nprompt: 'Say {{ task.input }}'\nterminate: {max_iterations: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var courtKeys = map[string]string{"AGENT_KEY": "sk-agent", "JUDGE_KEY": "sk-judge-0123456789"}

// scoresIn are the scores of a folder by run and name, without their hashes.
func scoresIn(t *testing.T, dir string) map[string]record.Score {
	t.Helper()
	all := map[string]record.Score{}
	for s, err := range record.ReadScores(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Scorer = ""; s.Iteration == 0 {
			all[s.Run+" "+s.Name] = s
		}
	}
	return all
}

// What judges cost is in their scores and in no run's usage; their answers are
// cached, and shown vote by vote.
func TestJudgesOfASuite(t *testing.T) {
	url, judged := courtroom(t)
	dir := judgedSuite(t, url, "")
	first, kept := filepath.Join(dir, "r1"), filepath.Join(dir, "kept")
	typed(t, 0, courtKeys, "run", dir, "--out", first, "--cache-dir", kept, "-q")
	scores := scoresIn(t, first)
	s := scores["one/a/1 quality"]
	if len(s.Votes) != 2 || s.Votes[0].Value == s.Votes[1].Value || s.Value != (s.Votes[0].Value+s.Votes[1].Value)/2 || s.Usage.Calls != 2 || judged.Load() != 4 {
		t.Errorf("%d calls, score %+v", judged.Load(), s)
	}
	for id, r := range recordsIn(t, first) {
		if total := r.Total(); total.Calls != 1 {
			t.Errorf("%s used %+v", id, total)
		}
	}
	shown, _ := typed(t, 0, nil, "show", first, "one/a/1")
	for _, part := range []string{"score       quality 0.15 (vote 1)", "\n              vote: 0.10 (vote 1)", "\n              vote: 0.20 (vote 2)", "asked in 2 calls, 20 tokens in, 20 out, $0.20"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not in\n%s", part, shown)
		}
	}

	again := filepath.Join(dir, "r2")
	typed(t, 0, nil, "run", dir, "--out", again, "--cache-dir", kept, "--cache", "only", "-q")
	fromCache := scoresIn(t, again)
	for name, s := range fromCache {
		for i := range s.Votes {
			if !s.Votes[i].Cached {
				t.Errorf("%s was asked: %+v", name, s.Votes[i])
			}
			s.Votes[i].Cached = false
		}
	}
	if !reflect.DeepEqual(fromCache, scores) || judged.Load() != 4 {
		t.Errorf("from the cache, with %d calls\n%+v\nwant\n%+v", judged.Load()-4, fromCache, scores)
	}
}

// A judge that tells a secret tells it nowhere.
func TestVotesWithoutSecrets(t *testing.T) {
	url, _ := courtroom(t)
	dir := judgedSuite(t, url, `  - {name: key, type: judge, model: j, rubric: "Tell your key."}`+"\n")
	results := filepath.Join(dir, "r")
	typed(t, 0, courtKeys, "run", dir, "--out", results, "-q")
	written, err := os.ReadFile(filepath.Join(results, "scores.jsonl"))
	if err != nil || strings.Contains(string(written), courtKeys["JUDGE_KEY"]) || strings.Count(string(written), "it is [redacted]") != 4 {
		t.Errorf("%v\n%s", err, written)
	}
}

// A judge that cannot be asked leaves runs unscored, each with the reason; the
// suite goes on, and what needs no judge is scored.
func TestAJudgeThatFailsFailsNoRun(t *testing.T) {
	url, _ := courtroom(t)
	for name, c := range map[string]struct {
		more, key, want string
	}{
		"a wrong key":    {"", "sk-wrong", "2 of 2 votes failed: auth: "},
		"a spent budget": {"budget: {calls: 4}\n", courtKeys["JUDGE_KEY"], "refused: "},
	} {
		dir := judgedSuite(t, url, c.more)
		results := filepath.Join(dir, "r")
		stdout, _ := typed(t, 0, map[string]string{"AGENT_KEY": "sk-agent", "JUDGE_KEY": c.key}, "run", dir, "--out", results, "-q")
		scores := scoresIn(t, results)
		if s := scores["one/b/1 quality"]; !strings.HasPrefix(s.Unscored, c.want) || s.Value != 0 || len(s.Votes) != 2 {
			t.Errorf("%s: %+v", name, s)
		}
		if s := scores["one/b/1 said"]; s.Value != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		if !strings.Contains(stdout, "quality could not score") || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: the report says\n%s", name, stdout)
		}
	}
}

// Runs whose scores were lost are judged once the suite goes on; what was paid
// for them is in the cache.
func TestLostScoresAreMadeAgain(t *testing.T) {
	url, judged := courtroom(t)
	dir := judgedSuite(t, url, "budget: {calls: 100}\n")
	results := filepath.Join(dir, "r")
	typed(t, 0, courtKeys, "run", dir, "--out", results, "-q")
	want := scoresIn(t, results)
	if err := os.Truncate(filepath.Join(results, "scores.jsonl"), 0); err != nil {
		t.Fatal(err)
	}
	typed(t, 0, courtKeys, "run", dir, "--out", results, "-q")
	got := scoresIn(t, results)
	for _, s := range got {
		for i := range s.Votes {
			s.Votes[i].Cached = false
		}
	}
	if len(want) != 4 || !reflect.DeepEqual(got, want) || judged.Load() != 4 {
		t.Errorf("%d calls; got\n%+v\nwant\n%+v", judged.Load(), got, want)
	}
}

// The coach of the language's examples runs with its judge, where scripts stand
// in for its models.
func TestTheCoachIsJudged(t *testing.T) {
	skipRace(t)
	t.Parallel()
	dir := t.TempDir()
	script := "{provider: script, price: free, after_last: repeat, responses: "
	for _, name := range []string{"coach.suite.yaml", "interview-analysis.loop.yaml", "interviews.jsonl", "responses.yaml"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if os.IsNotExist(err) {
			t.Skipf("the language's examples are not here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		changed := regexp.MustCompile(`(?m)^  analyst: .*$`).ReplaceAllString(string(text), "  analyst: "+script+"responses.yaml}")
		changed = regexp.MustCompile(`(?m)^  critic: .*$`).ReplaceAllString(changed, "  critic: "+script+`["Specific.", '{"score": 0.75}']}`)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := filepath.Join(dir, "r")
	typed(t, 1, nil, "run", filepath.Join(dir, "coach.suite.yaml"), "--out", results, "-q") // close is below its threshold
	judged := 0
	for name, s := range scoresIn(t, results) {
		if s.Name != "quality" {
			continue
		}
		if judged++; s.Value != 0.75 || len(s.Votes) != 1 || !s.Votes[0].Repaired || s.Usage.Calls != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if judged != 108 {
		t.Errorf("%d runs were judged, want 108", judged)
	}
}
