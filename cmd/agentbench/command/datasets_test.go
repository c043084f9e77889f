package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/compare"
)

// What stands around the example filing-qa: its server of filings and its
// calculator, which TestMain makes programs of, its auditor and its model.

type filingQuery struct {
	Company string `json:"company"`
	Year    int    `json:"year"`
}

// serveFilings is filings-mcp: it knows two numbers.
func serveFilings() {
	if len(os.Args) != 2 || os.Args[1] != "--read-only" {
		fmt.Fprintf(os.Stderr, "filings-mcp: %q\n", os.Args)
		os.Exit(2)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "filings-mcp", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "search_filings", Description: "Find figures of a company"},
		func(_ context.Context, _ *sdk.CallToolRequest, in filingQuery) (*sdk.CallToolResult, any, error) {
			if in.Company != "ACME" || in.Year != 2023 {
				return nil, nil, fmt.Errorf("there is no filing of %s for %d", in.Company, in.Year)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "10-K p. 42: revenue 1200, cost of sales 950"}}}, nil, nil
		})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// calculate is bc -l, as a tool: it reads JSON, and knows only differences.
func calculate() {
	var in struct{ Expression string }
	var a, b int
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := fmt.Sscanf(in.Expression, "%d - %d", &a, &b); err != nil {
		fmt.Fprintf(os.Stderr, "(standard_in) 1: syntax error in %q\n", in.Expression)
		os.Exit(1)
	}
	fmt.Println(a - b)
}

// auditor is a remote agent that speaks A2A 0.3 and answers every task at once.
type auditor struct {
	mu    sync.Mutex
	tasks []string
}

func (a *auditor) start(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"auditor","url":"http://%s/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0"}`, r.Host)
	})
	mux.HandleFunc("POST /rpc", a.answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func (a *auditor) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Message struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Method != "message/send" || len(asked.Params.Message.Parts) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks = append(a.tasks, asked.Params.Message.Parts[0].Text)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","messageId":"1","role":"agent","parts":[{"kind":"text","text":"The margin is right."}]}}`, asked.ID)
}

// mockOf starts agentbench mock with a file of replies, and gives its address.
func mockOf(t *testing.T, replies string) (address string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "replies.yaml")
	if err := os.WriteFile(file, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	mock := exec.CommandContext(t.Context(), "agentbench", "mock", "--port", "0", "--replies", file)
	mock.Stderr = os.Stderr
	told, err := mock.StdoutPipe()
	if err == nil {
		err = mock.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mock.Process.Kill()
		_ = mock.Wait()
	})
	line, err := bufio.NewReader(told).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("the mock server says %q (%v)", line, err)
	}
	return address
}

// examples are the language's, which are not part of this repository.
const examples = "../../../../shared/design/examples"

// filingReplies are what the analyst says, and the researcher, who has the same
// model. The last prompt comes twice: the first answer is not certain enough.
const filingReplies = `
- {match: "^Plan how to answer", replies: ["Look the figures up, compute, let it be checked."]}
- match: "^Carry out the plan"
  steps:
  - tool_calls:
    - {name: search_filings, arguments: {company: ACME, year: 2023}}
    - {name: researcher, arguments: {task: "What does ACME call its cost of sales?"}}
  - {tool_calls: [{name: search_filings, arguments: {company: ACME, year: "last"}}, {name: calculator, arguments: {expression: "1200 - 950"}}]}
  - {text: "Let it be checked.", tool_calls: [{name: auditor, arguments: {task: "Is 250 of 1200 a margin of 20.8 %?"}}]}
  - The figures are there.
  - Nothing is left to do.
- match: "^Write the final answer"
  steps:
  - '{"answer": "20.8 %", "confidence": 0.6}'
  - '{"answer": "20.8 % (10-K p. 42)", "confidence": 0.95}'
- {match: "call its cost of sales", replies: ["Cost of sales (10-K p. 42)."]}
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
	skipRace(t)
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
		"invoke_agent qa": 1, "invoke_agent qa > scores": 1, "invoke_agent qa > iteration planning": 1, "invoke_agent qa > iteration execution": 2, "invoke_agent qa > iteration refinement": 2,
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

// gsm8k is what is known of two recorded models.
type gsm8k struct {
	Models map[string]struct{ Accuracy float64 }
	Pairs  []struct {
		N           int
		OnlyFirst   int `json:"only_first"`
		OnlySecond  int `json:"only_second"`
		Diff        float64
		BonettPrice [2]float64 `json:"ci95_bonett_price"`
		McNemar     float64    `json:"mcnemar_exact_p"`
	}
}

func knownOfGSM8K(t *testing.T, data string) (known gsm8k) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ GSM8K *gsm8k }
	if err := json.Unmarshal(text, &all); err != nil || all.GSM8K == nil || len(all.GSM8K.Pairs) != 1 {
		t.Fatalf("expected.json: %v", err)
	}
	return *all.GSM8K
}

// commands runs the program in a folder of its own and gives what it printed.
type commands struct {
	t   *testing.T
	env func(string) string
}

func (c commands) run(code int, args ...string) string {
	c.t.Helper()
	var out, errs strings.Builder
	if got := run(context.Background(), args, c.env, strings.NewReader(""), &out, &errs); got != code {
		c.t.Fatalf("agentbench %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String()
}

// Two models' recorded solutions of GSM8K, run into two folders, give exactly the
// numbers of expected.json, from the folders and from a baseline.
func TestDiffOfRecordedGSM8K(t *testing.T) {
	skipLong(t)
	data := recordingtest.Folder(t)
	known := knownOfGSM8K(t, data)
	suite, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "recorded", "gsm8k.suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	c := commands{t, func(name string) string {
		if name == "AGENTBENCH_DATA" {
			return data
		}
		return ""
	}}
	for _, name := range []string{"finetuning", "verification"} {
		c.run(0, "run", suite, "-q", "--configuration", name, "--out", name)
	}
	c.run(0, "baseline", "set", "main", "finetuning")
	for _, args := range [][]string{{"finetuning", "verification"}, {"--baseline", "main", "verification"}} {
		checkGSM8K(t, &known, c.run(0, append([]string{"diff", "--format", "json"}, args...)...))
		table := c.run(0, append([]string{"diff", "--table", "differences"}, args...)...)
		if want := "correct     better"; !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
		for _, number := range []string{"0.217", "0.390", "+0.174", "+0.147…0.200", "<0.001", "293/64/962"} {
			if !strings.Contains(table, number) {
				t.Errorf("no %s in\n%s", number, table)
			}
		}
	}
	c.run(1, "diff", "verification", "finetuning")
}

// checkGSM8K holds a comparison as JSON to what is known.
func checkGSM8K(t *testing.T, known *gsm8k, text string) {
	t.Helper()
	var got struct {
		Pairs []struct {
			Differences []struct {
				Quantity                     string
				Base, New, Change, Low, High float64
				P, Adjusted                  float64
				Test                         compare.Test
				Tasks, Wins, Losses, Ties    int
				Verdict                      compare.Verdict
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Pairs) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	d, want := got.Pairs[0].Differences[0], known.Pairs[0]
	for what, numbers := range map[string][2]float64{
		"base": {d.Base, known.Models["6b_finetuning"].Accuracy}, "new": {d.New, known.Models["6b_verification"].Accuracy},
		"change": {d.Change, want.Diff}, "low": {d.Low, want.BonettPrice[0]}, "high": {d.High, want.BonettPrice[1]}, "p": {d.P, want.McNemar},
	} {
		if !(math.Abs(numbers[0]-numbers[1]) <= 1e-11*math.Abs(numbers[1])) {
			t.Errorf("%s is %v, want %v", what, numbers[0], numbers[1])
		}
	}
	if d.Quantity != "correct" || d.Test != compare.McNemar || d.Verdict != compare.Better ||
		d.Tasks != want.N || d.Wins != want.OnlyFirst || d.Losses != want.OnlySecond || d.Ties != want.N-want.OnlyFirst-want.OnlySecond {
		t.Errorf("%+v, want %+v", d, want)
	}
}
