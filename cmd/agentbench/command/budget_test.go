package command

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// P7: what exceeds a budget is reported.
func TestF40_AnOvershootIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		budget spec.SuiteBudget
		want   string
	}{
		"none":   {spec.SuiteBudget{CostUSD: 2, Tokens: 1000}, ""},
		"cost":   {spec.SuiteBudget{CostUSD: 1}, "agentbench: warning: the budget of $1.00 was exceeded: $1.25 spent, because calls used more than was reserved for them\n"},
		"tokens": {spec.SuiteBudget{Tokens: 900}, "agentbench: warning: the budget of 900 tokens was exceeded: 950 spent, because calls used more than was reserved for them\n"},
	} {
		b := pace.OfSuite(c.budget)
		b.Charge(record.Usage{Calls: 1, InputTokens: 900, OutputTokens: 50, Cost: record.USD * 5 / 4}, record.Usage{})
		var errs bytes.Buffer
		(&program{err: &errs}).tellOvershoot(b)
		if errs.String() != c.want {
			t.Errorf("%s: %q, want %q", name, errs.String(), c.want)
		}
	}
}

// A ledger of the earlier format kept the reservations of calls that were refused.
// What the records prove of them is released when the suite is resumed, nothing more.
func TestAnEarlierLedgerReleasesWhatItsRecordsProve(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	suite, results := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "r")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a.loop.yaml"), "loop: a\nagent: {model: m, max_output_tokens: 100}\nprompt: \"{{ task.input }}\"\nterminate: {max_iterations: 1}\n")
	write(suite, `suite: earlier
tasks: [{id: one, input: a}, {id: two, input: b}, {id: three, input: c}]
models: {m: {provider: openai, base_url: "http://`+address+`/v1", price: {input: 1, output: 2}, retries: 0}}
configurations: [{name: default, loop: a.loop.yaml}]
concurrency: 1
budget: {calls: 6, tokens: 1000}
`)
	agentbench := func(args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		code = run(t.Context(), args, func(string) string { return "" }, nil, &out, &errs)
		return out.String(), errs.String(), code
	}
	for range 3 { // a session ends with the first call that is refused
		if _, errs, code := agentbench("run", suite, "-q", "--cache", "off", "--out", results); code != exit.NotMeasured || !strings.Contains(errs, "cannot connect to http") {
			t.Fatalf("exit code %d: %s", code, errs)
		}
	}
	// four calls were reserved: three that were refused, and one of which no record tells
	earlierFolder(t, results, `{"calls":4,"input_tokens":68,"output_tokens":400,"cost_pusd":868000000}`)
	balance := func(row string) []string {
		t.Helper()
		out, errs, code := agentbench("plan", results)
		if code != 0 {
			t.Fatal(errs)
		}
		for line := range strings.Lines(out) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == row {
				return fields[1:]
			}
		}
		t.Fatalf("no %s in %s", row, out)
		return nil
	}
	if got := balance("calls"); !slices.Equal(got, []string{"6", "0", "1", "5"}) {
		t.Errorf("calls: %v", got)
	}
	// of 468 tokens, 3 times 100 for the reply and 10 for a prompt were certainly reserved for nothing
	if got := balance("tokens"); !slices.Equal(got, []string{"1000", "0", "138", "862"}) {
		t.Errorf("tokens: %v", got)
	}
	// Of what there is less of than that, all is released; of more calls than there are, some were not made under it.
	for _, c := range []struct{ atWorst, calls, tokens string }{
		{`{"calls":4,"input_tokens":20,"output_tokens":250}`, "1", "0"},
		{`{"calls":4,"input_tokens":68,"output_tokens":250}`, "1", "38"},
		{`{"calls":2,"input_tokens":68,"output_tokens":400}`, "2", "468"},
	} {
		write(filepath.Join(results, "spent.jsonl"), sealed(`{"at_worst":`+c.atWorst+`}`))
		if calls, tokens := balance("calls"), balance("tokens"); calls[2] != c.calls || tokens[2] != c.tokens {
			t.Errorf("%s: %v, %v", c.atWorst, calls, tokens)
		}
	}
	write(filepath.Join(results, "spent.jsonl"), sealed(`{"at_worst":{"calls":4,"input_tokens":68,"output_tokens":400,"cost_pusd":868000000}}`))
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Skip(err)
	}
	server := httptest.NewUnstartedServer(mockserver.New(mockserver.Options{}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	if _, errs, code := agentbench("run", suite, "-q", "--cache", "off", "--attempts", "4", "--out", results); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if got := balance("calls"); !slices.Equal(got, []string{"6", "3", "1", "2"}) {
		t.Errorf("calls: %v", got)
	}
	if out, errs, code := agentbench("repair", "--release", results); code != 0 || !strings.Contains(out, "released 1 call, 138 tokens") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if got := balance("calls"); !slices.Equal(got, []string{"6", "3", "0", "3"}) {
		t.Errorf("calls: %v", got)
	}
}

// sealed is an object as a line of a result file.
func sealed(object string) string {
	sum := crc32.Checksum([]byte(","+object[1:]), crc32.MakeTable(crc32.Castagnoli))
	return fmt.Sprintf("{\"crc\":\"%08x\",%s\n", sum, object[1:])
}

// earlierFolder turns a folder into one of the version before ledgers had causes.
func earlierFolder(t *testing.T, dir, atWorst string) {
	t.Helper()
	edit := func(name string, edit func(string) string) {
		t.Helper()
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(edit(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit("records.jsonl", func(text string) string {
		var all strings.Builder
		for line := range strings.Lines(text) {
			_, object, _ := strings.Cut(strings.ReplaceAll(line, `"unsent":1,`, ""), ",")
			all.WriteString(sealed("{" + strings.TrimSuffix(object, "\n")))
		}
		return all.String()
	})
	edit("spent.jsonl", func(string) string { return sealed(`{"at_worst":` + atWorst + `}`) })
	edit("manifest.json", func(text string) string {
		return regexp.MustCompile(`(?s),\n *"ledger": .*"digest": "[^"]*"`).ReplaceAllString(text, "")
	})
	for _, name := range []string{"manifest.copy.json", "spent.head"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
