package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A scripted agent in three phases. It plans until its plan is ready, which takes
// a task two or three iterations; executes until it is done, which takes three
// to five; and refines until it is cut. What it is sent tells the iteration only
// while it plans: steps of the execution repeat a request, and what refines is
// sent the last output of each phase before.
const (
	phasedLoop = `loop: phased
agent: {model: m, max_output_tokens: 20}
phases:
  - {name: planning, max_iterations: 4, prompt: "{{ task.input }} plan {{ iteration }}", until: output.startsWith("ready")}
  - {name: execution, max_iterations: 6, prompt: "{{ task.input }} execute after {{ outputs.planning }}; last {{ output }}", until: output.endsWith("done")}
  - {name: refinement, max_iterations: 3, prompt: "{{ task.input }} refine {{ outputs.planning }} {{ outputs.execution }}"}
guards: {absolute_max_iterations: 20}
`
	phasedSuite = `suite: phased
tasks: [{id: t0, input: t0}, {id: t1, input: t1}, {id: t2, input: t2}, {id: t3, input: t3}, {id: t4, input: t4}]
trials: 2
models: {m: {provider: openai, base_url: "URL", api_key_env: PAID_KEY, price: {input: 1, output: 1}}}
configurations:
  - name: phases
    loop: phased.loop.yaml
    sweep: {phases.planning.max_iterations: [1, 2, 3, 4], phases.execution.max_iterations: [1, 2, 3, 4, 5, 6], phases.refinement.max_iterations: [1, 2, 3]}
`
)

// scripted is what the agent answers.
func scripted(prompt string) string {
	var task, n int
	if _, err := fmt.Sscanf(prompt, "t%d plan %d", &task, &n); err == nil {
		if n >= 1+task%2 {
			return fmt.Sprint("ready", n)
		}
		return fmt.Sprint("idea", n)
	}
	if _, err := fmt.Sscanf(prompt, "t%d execute", &task); err == nil {
		_, last, _ := strings.Cut(prompt, "last ")
		if strings.Count(last, "+") >= task%3 {
			return last + "+done"
		}
		if len(last) > 8 { // stuck: it is sent the same again
			return last[:8]
		}
		return last + "+"
	}
	return "text"
}

// distinct walks through all runs of the sweep by hand, and counts the requests
// that differ in task, trial, text or the number of equal ones before them in
// the run, and all requests.
func distinct(tasks, trials, planning, execution, refinement int) (different, all int) {
	seen := map[string]bool{}
	for run := range tasks * trials * planning * execution * refinement {
		p, e, f := run%planning+1, run/planning%execution+1, run/planning/execution%refinement+1
		task, trial := run/planning/execution/refinement%tasks, run/planning/execution/refinement/tasks
		sent := map[string]int{}
		ask := func(prompt string) string {
			seen[fmt.Sprint(task, trial, prompt, sent[prompt])] = true
			sent[prompt]++
			all++
			return scripted(prompt)
		}
		plan, last := "", ""
		for i := range p {
			plan = ask(fmt.Sprintf("t%d plan %d", task, i))
			if strings.HasPrefix(plan, "ready") {
				break
			}
		}
		last = plan
		for range e {
			last = ask(fmt.Sprintf("t%d execute after %s; last %s", task, plan, last))
			if strings.HasSuffix(last, "done") {
				break
			}
		}
		for range f {
			ask(fmt.Sprintf("t%d refine %s %s", task, plan, last))
		}
	}
	return len(seen), all
}

// playing is a server that answers by the script and counts.
func playing(t *testing.T) (url string, calls func() int) {
	t.Helper()
	var mu sync.Mutex
	made := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Messages []struct{ Content string } }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) != 1 {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		mu.Lock()
		made++
		mu.Unlock()
		text, _ := json.Marshal(scripted(request.Messages[0].Content))
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}}`, text)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return made
	}
}

// Of a sweep of planning x execution x refinement limits (4 x 6 x 3) as many calls
// are made as there are different requests, with one run after the other and with
// many at once, whether or not answers are stored; and no more than the plan says.
func TestSharedPrefixesAreCalledOnce(t *testing.T) {
	different, all := distinct(5, 2, 4, 6, 3)
	if different*4 > all {
		t.Fatalf("%d of %d requests differ: the sweep shares too little to tell", different, all)
	}
	for _, flags := range [][]string{{"--concurrency", "1"}, {"--concurrency", "16"}, {"--concurrency", "16", "--cache", "read"}, {"--concurrency", "16", "--cache", "write"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			url, calls := playing(t)
			dir := t.TempDir()
			for name, text := range map[string]string{"suite.yaml": strings.Replace(phasedSuite, "URL", url, 1), "phased.loop.yaml": phasedLoop} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			env := map[string]string{"PAID_KEY": "sk-1"}
			_, said := typed(t, 0, env, append([]string{"run", dir, "--out", filepath.Join(dir, "r")}, flags...)...)
			if calls() != different {
				t.Errorf("%d calls were made, %d requests of %d differ", calls(), different, all)
			}
			if want := fmt.Sprintf("cache: %d hits, %d misses", all-different, different); !strings.Contains(said, want) {
				t.Errorf("run says\n%s\nwant %s", said, want)
			}
		})
	}
}
