package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// examples are the language's, which are not part of this repository.
const examples = "../../../../shared/design/examples"

// filingReplies are what the analyst says, and the researcher, who has the same
// model. The last prompt comes twice: the first answer is not certain enough.
const filingReplies = `
- {match: "^Plan how to answer", reply: "Look the figures up, compute, let it be checked."}
- match: "^Carry out the plan"
  steps:
  - tools:
    - {name: search_filings, arguments: {company: ACME, year: 2023}}
    - {name: researcher, arguments: {task: "What does ACME call its cost of sales?"}}
  - {tools: [{name: search_filings, arguments: {company: ACME, year: "last"}}, {name: calculator, arguments: {expression: "1200 - 950"}}]}
  - {reply: "Let it be checked.", tools: [{name: auditor, arguments: {task: "Is 250 of 1200 a margin of 20.8 %?"}}]}
  - The figures are there.
  - Nothing is left to do.
- match: "^Write the final answer"
  steps:
  - '{"answer": "20.8 %", "confidence": 0.6}'
  - '{"answer": "20.8 % (10-K p. 42)", "confidence": 0.95}'
- {match: "call its cost of sales", reply: "Cost of sales (10-K p. 42)."}
`

const filingSuite = `suite: filings
tasks: [{id: margin, input: "What was the gross margin of ACME in 2023?", target: "20.8"}]
models:
  analyst: {provider: openai, base_url: "MOCK", name: analyst-1, price: {input: 1, output: 2}}
scorers: [{name: right, type: cel, expr: "string(output.answer).contains(string(target))"}]
configurations: [{name: qa, loop: filing-qa.loop.yaml}]
`

// filingFolder has the example with a suite around it.
func filingFolder(t *testing.T, mock, auditor string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"suite.yaml": strings.ReplaceAll(filingSuite, "MOCK", mock)}
	for _, name := range []string{"filing-qa.loop.yaml", "research.loop.yaml"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if os.IsNotExist(err) {
			t.Skipf("the language's examples are not here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.ReplaceAll(string(text), "http://localhost:9100", auditor)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The example with everything in it runs without a key: phases, tools of a server
// and of a program, colleagues here and elsewhere, one memory.
func TestFilingQA(t *testing.T) {
	spans := collectSpans(t)
	remote := &auditor{}
	dir := filingFolder(t, mockOf(t, filingReplies), remote.start(t))
	var errs bytes.Buffer
	out := filepath.Join(dir, "r")
	if code := run(t.Context(), []string{"run", filepath.Join(dir, "suite.yaml"), "--quiet", "--out", out, "--cache", "off"}, os.Getenv, nil, io.Discard, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("told %s", errs.String())
	}
	for r, err := range record.ReadRuns(out) {
		if err != nil {
			t.Fatal(err)
		}
		held := filing{t, r}
		held.phases()
		held.tools()
		held.delegation()
		held.usage()
	}
	for score, err := range record.ReadScores(out) {
		if err != nil || score.Iteration == 0 && (score.Value != 1 || score.Unscored != "") {
			t.Errorf("the score %+v, %v", score, err)
		}
	}
	spans.hold(t, map[string]int{
		"invoke_agent qa": 1, "invoke_agent qa > iteration planning": 1, "invoke_agent qa > iteration execution": 2, "invoke_agent qa > iteration refinement": 2,
		"iteration planning > chat analyst-1": 1, "iteration execution > chat analyst-1": 5, "iteration refinement > chat analyst-1": 2,
		"iteration execution > execute_tool search_filings": 1, "iteration execution > execute_tool calculator": 1,
		"iteration execution > execute_tool researcher": 1, "iteration execution > execute_tool auditor": 1,
		"execute_tool researcher > invoke_agent research": 1, "invoke_agent research > iteration": 1, "iteration > chat analyst-1": 1,
	})
	if want := []string{"Is 250 of 1200 a margin of 20.8 %?"}; !reflect.DeepEqual(remote.tasks, want) {
		t.Errorf("the auditor was sent %q", remote.tasks)
	}
}

// filing holds the run of the example to what the model said.
type filing struct {
	*testing.T
	run *record.Run
}

func (f filing) phases() {
	var phases []string
	for i := range f.run.Iterations {
		phases = append(phases, f.run.Iterations[i].Phase)
	}
	if want := []string{"planning", "execution", "execution", "refinement", "refinement"}; !reflect.DeepEqual(phases, want) {
		f.Errorf("the phases were %q", phases)
	}
	o := f.run.Outcome
	if o.Status != record.Completed || o.Reason != record.ReasonConfidence || !o.Success || string(f.run.Output()) != `{"answer":"20.8 % (10-K p. 42)","confidence":0.95}` {
		f.Errorf("the outcome is %+v with %s", o, f.run.Output())
	}
}

func (f filing) tools() {
	var calls []string
	for i := range f.run.Iterations {
		it := &f.run.Iterations[i]
		for j := range it.ToolCalls {
			c := &it.ToolCalls[j]
			class := record.ErrorClass("")
			if c.Error != nil {
				class = c.Error.Class
			}
			calls = append(calls, fmt.Sprintf("%d %s %s %s %s", it.N, c.Tool, c.Server, c.Result, class))
		}
	}
	want := []string{
		`2 search_filings filings-mcp "10-K p. 42: revenue 1200, cost of sales 950" `,
		`2 researcher  "Cost of sales (10-K p. 42)." `,
		`2 search_filings filings-mcp  bad_call`,
		`2 calculator  "250" `,
		`2 auditor  "The margin is right." `,
	}
	if !reflect.DeepEqual(calls, want) {
		f.Errorf("the calls were\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
	if steps := len(f.run.Iterations[1].Steps); steps != 4 {
		f.Errorf("%d steps were made", steps)
	}
}

func (f filing) delegation() {
	researcher := f.run.Iterations[1].ToolCalls[1]
	if d := researcher.Delegated; researcher.Delegate != "researcher" || d == nil || len(d.Iterations) != 1 || d.Outcome.Status != record.Completed {
		f.Errorf("the researcher's run is %+v", d)
	}
	byRole := map[record.Role]int{}
	for i := range f.run.Iterations {
		for _, call := range f.run.Iterations[i].Calls {
			byRole[call.Role]++
		}
	}
	if want := map[record.Role]int{record.RoleAgent: 8, record.RoleDelegate: 2}; !reflect.DeepEqual(byRole, want) {
		f.Errorf("the calls were %v", byRole)
	}
}

// usage is that of the analyst's calls and the researcher's, at the model's price.
func (f filing) usage() {
	u := f.run.Usage
	const perToken = record.USD / 1_000_000
	priced := perToken.Times(u.InputTokens) + 2*perToken.Times(u.OutputTokens)
	if u.Calls != 10 || u.ToolCalls != 5 || u.Cost != priced || u.Cost == 0 {
		f.Errorf("the usage is %+v, which costs %d", u, priced)
	}
}
