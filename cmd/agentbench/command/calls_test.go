//go:build unix

package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// A call of usual size: about 500 tokens are sent, 100 come back.
var (
	question = strings.Repeat("What is six times seven? Think well before you answer. ", 36)
	answer   = strings.Repeat("Six times seven is forty-two. ", 13)
)

// cpu is what this process has used so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serve starts agentbench mock, as another process: what a server needs of the
// processor is not its client's. It gives the server's address.
func serve(b *testing.B, flags ...string) string {
	b.Helper()
	server := exec.Command("agentbench", append([]string{"mock", "--port", "0", "--reply", answer}, flags...)...)
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "listening on "), "/v1")
}

// statsOf is what a server has counted.
func statsOf(b *testing.B, address string) (told mockserver.Stats) {
	b.Helper()
	response, err := http.Get(address + "/stats")
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		b.Fatal(err)
	}
	return told
}

// callsFolder writes a suite whose runs make one call each of a server's model.
func callsFolder(b *testing.B, address, options string, tasks int) string {
	b.Helper()
	dir := b.TempDir()
	var rows strings.Builder
	for n := range tasks {
		fmt.Fprintf(&rows, "{\"id\": \"task-%d\", \"input\": \"the %dth time\"}\n", n, n)
	}
	model := fmt.Sprintf("{base_url: %s/v1, price: {input: 1, output: 2}, %s}", address, options)
	for name, text := range map[string]string{
		"a.loop.yaml": "loop: a\nagent: {model: m, max_output_tokens: 200, temperature: 0.5}\nprompt: '" + question + "{{ task.input }}'\nterminate: {max_iterations: 1}\n",
		"suite.yaml":  "suite: calls\ntasks: tasks.jsonl\nmodels: {m: " + model + "}\nconfigurations: [{name: a, loop: a.loop.yaml}]\n",
		"tasks.jsonl": rows.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// manyCalls makes so many calls, a number of them at once.
func manyCalls(b *testing.B, calls int64, atOnce int, call func(context.Context) error) {
	b.Helper()
	var made atomic.Int64
	var working sync.WaitGroup
	for range atOnce {
		working.Go(func() {
			for made.Add(1) <= calls {
				if err := call(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
}

// bareCall is what a program does that has nothing but go-openai, and a
// transport that keeps its connections.
func bareCall(address string, stream bool) func(context.Context) error {
	config := goopenai.DefaultConfig("sk-of-a-benchmark")
	config.BaseURL = address + "/v1"
	config.HTTPClient = &http.Client{Transport: wire.NewTransport()}
	client := goopenai.NewClientWithConfig(config)
	request := goopenai.ChatCompletionRequest{
		Model: "m", MaxCompletionTokens: 200, Temperature: 0.5,
		Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: question}},
	}
	if stream {
		request.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
		return func(ctx context.Context) error { return bareStream(ctx, client, request) }
	}
	return func(ctx context.Context) error {
		_, err := client.CreateChatCompletion(ctx, request)
		return err
	}
}

func bareStream(ctx context.Context, client *goopenai.Client, request goopenai.ChatCompletionRequest) error {
	stream, err := client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	var text strings.Builder
	for {
		chunk, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(chunk.Choices) > 0:
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
}

// wholeCall is a run of one call with all that agentbench puts around it, from
// the prompt to the record: loop, agent, retries, budget, gate and wire.
func wholeCall(b *testing.B, address, options string) func(context.Context) error {
	b.Helper()
	dir := callsFolder(b, address, options, 1)
	doc, faults := spec.Load(filepath.Join(dir, "suite.yaml"), spec.Options{})
	if err := faults.Err(); err != nil {
		b.Fatal(err)
	}
	loops, err := engine.Loops(doc, doc.Suite.Resolved, engine.BuildOptions{
		Getenv: func(string) string { return "sk-of-a-benchmark" }, Budget: pace.OfSuite(spec.SuiteBudget{CostUSD: 1e6}),
	})
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context) error { return runOnce(ctx, loops[0]) }
}

func runOnce(ctx context.Context, l *loop.Loop) error {
	if run := l.Run(ctx, "run", &spec.Task{ID: "task", Input: "once more"}, 1, nil); run.Outcome.Status != record.Completed {
		return fmt.Errorf("the run ended with %+v", run.Outcome)
	}
	return nil
}

// bareMessage is what a program does that has nothing but Anthropic's SDK, and a transport that keeps its connections.
func bareMessage(address string, stream bool) func(context.Context) error {
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(address), option.WithAPIKey("sk-of-a-benchmark"),
		option.WithHTTPClient(&http.Client{Transport: wire.NewTransport()}))
	request := anthropic.MessageNewParams{
		Model: "m", MaxTokens: 200, Temperature: anthropic.Float(0.5),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
	return func(ctx context.Context) error {
		if !stream {
			_, err := client.Messages.New(ctx, request)
			return err
		}
		events := client.Messages.NewStreaming(ctx, request)
		var whole anthropic.Message
		for events.Next() {
			if err := whole.Accumulate(events.Current()); err != nil {
				return err
			}
		}
		return events.Err()
	}
}

// BenchmarkCalls compares the CPU of a call with that of the provider's library alone: go-openai, and Anthropic's SDK. Both
// take turns, so that other work on the machine meets both alike.
func BenchmarkCalls(b *testing.B) {
	address := serve(b)
	for provider, bare := range map[string]func(string, bool) func(context.Context) error{"openai": bareCall, "anthropic": bareMessage} {
		for _, atOnce := range []int{1, 16, 256} {
			for _, stream := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%d-at-once/stream=%v", provider, atOnce, stream), func(b *testing.B) {
					options := fmt.Sprintf("provider: %s, max_parallel: %d, stream: %v", provider, atOnce, stream)
					compareCalls(b, atOnce, bare(address, stream), wholeCall(b, address, options))
				})
			}
		}
	}
}

// compareCalls reports the CPU of two kinds of calls, and the median of its ratio.
func compareCalls(b *testing.B, atOnce int, bare, whole func(context.Context) error) {
	const calls = 2000
	took := func(call func(context.Context) error) time.Duration {
		before := cpu(b)
		manyCalls(b, calls, atOnce, call)
		return cpu(b) - before
	}
	manyCalls(b, int64(atOnce), atOnce, bare) // connects
	manyCalls(b, int64(atOnce), atOnce, whole)
	var ofBare, ofWhole time.Duration
	var ratios []float64
	for b.Loop() {
		one, other := took(bare), took(whole)
		ofBare, ofWhole = ofBare+one, ofWhole+other
		ratios = append(ratios, other.Seconds()/one.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(ofBare.Microseconds())/float64(b.N*calls), "bare-us/call")
	b.ReportMetric(float64(ofWhole.Microseconds())/float64(b.N*calls), "cpu-us/call")
	b.ReportMetric(ratios[len(ratios)/2], "x-bare")
}

// BenchmarkCallsInParallel runs the program: 10,240 calls at a server that takes
// 200 ms, 256 at a time, which are 40 waves. It starts, and reports, besides.
func BenchmarkCallsInParallel(b *testing.B) {
	const n, atOnce, latency = 10_240, 256, 200 * time.Millisecond
	const ideal = n / atOnce * latency
	address := serve(b, "--latency", latency.String())
	dir := callsFolder(b, address, fmt.Sprintf("provider: openai, max_parallel: %d", atOnce), n)
	var used time.Duration // of the processor
	for i := 0; b.Loop(); i++ {
		run := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", "off", "--concurrency", strconv.Itoa(atOnce), "--out", "r"+strconv.Itoa(i))
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		used += run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	}
	told := statsOf(b, address)
	if told.Requests != n*b.N || told.Statuses["200"] != n*b.N {
		b.Fatalf("the server tells %+v", told)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/ideal.Seconds(), "x-ideal")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*n), "cpu-us/run")
	b.ReportMetric(float64(told.MaxInFlight), "in-flight")
}

// BenchmarkPrograms runs programs that call a server directly and through the proxy in turns, with 41 KB of conversation, and compares
// how much later than the server's latency the last byte of an answer is there.
func BenchmarkPrograms(b *testing.B) {
	address := serve(b, "--latency", callTakes.String())
	dir := b.TempDir()
	var tasks strings.Builder
	for n := range callers {
		fmt.Fprintf(&tasks, "{\"id\": \"task-%d\", \"input\": \"%d\"}\n", n, n)
	}
	for name, text := range map[string]string{
		"tasks.jsonl": tasks.String(),
		"suite.yaml": fmt.Sprintf("suite: callers\ntasks: tasks.jsonl\nmodels: {m: {provider: openai, base_url: %s/v1, stream: true, price: free, max_parallel: %d}}\n"+
			"configurations: [{name: c, loop: c.loop.yaml}]\nconcurrency: %d\nscorers: [{name: called, type: calls, at_most: %d}]\n", address, callers, callers, callsOfCaller),
		"c.loop.yaml": fmt.Sprintf("loop: c\nworkspace: {snapshot: iteration}\nagent:\n  command: [caller, \"{{ task.input }}\"]\n  models: {default: m}\n"+
			"  env: {DIRECT_URL: %s/v1, LATE: %s}\nterminate: {max_iterations: 1}\n", address, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	late := map[string][]float64{}
	for i := 0; b.Loop(); i++ {
		run := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", "off", "--out", "r"+strconv.Itoa(i))
		run.Dir, run.Env = dir, append(os.Environ(), "OPENAI_API_KEY=none")
		if out, err := run.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		for n := range callers {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("late-%d.json", n)))
			var of map[string][]float64
			if err = cmp.Or(err, json.Unmarshal(text, &of)); err != nil {
				b.Fatal(err)
			}
			for way, ms := range of {
				late[way] = append(late[way], ms...)
			}
		}
	}
	for way, ms := range late {
		slices.Sort(ms)
		b.ReportMetric(ms[len(ms)/2], "p50-ms-"+way)
		b.ReportMetric(ms[(len(ms)-1)*99/100], "p99-ms-"+way)
	}
	b.ReportMetric(0, "ns/op")
}
