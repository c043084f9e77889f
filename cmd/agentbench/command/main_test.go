package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/engine/exit"
)

// programs are what tests start: the test binary, under these names.
var programs = map[string]func(){
	"agentbench": func() { os.Exit(Main()) }, "filings-mcp": serveFilings, "bc": calculate, "measured": measured, "caller": callerMain,
}

// run is the program within a test.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer, places ...Place) int {
	return newProgram(env, stdin, stdout, stderr, places).command(ctx, args)
}

func TestMain(m *testing.M) {
	exitAtOnce()
	if len(os.Args) > 1 && os.Args[1] == "forward" { // as a sandbox starts us
		os.Exit(Main())
	}
	testscript.Main(m, programs)
}

// skipLong leaves a test to the part test of .ci/run: it takes long, or does one
// thing at a time, or the race detector would distort it.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("a long test; it runs without -short and the race detector")
	}
}

// skipRace leaves a test to the part test of .ci/run: it does one thing at a time, or
// what others do at once, so that the race detector would find nothing.
func skipRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it has nothing for the race detector")
	}
}

func TestNamesAreListedOnce(t *testing.T) {
	if got := exit.Some([]string{"right", "right", "cost_usd", "right"}); got != "right, cost_usd" {
		t.Errorf("%q", got)
	}
	if got := exit.Some(strings.Split("a b c d e f g h i j a", " ")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Errorf("%q", got)
	}
}

// Programs of BenchmarkPrograms: so many at a time, each with so many calls to the server and as many through the proxy.
const callers, callsOfCaller, callTakes = 64, 20, time.Second

// callerMain is a program of BenchmarkPrograms. The first call of each way connects, and is left out.
func callerMain() {
	n, _ := strconv.Atoi(os.Args[1])
	body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":%q}]}`, strings.Repeat(fmt.Sprintf("%d words ", n), 41_000/9))
	ways := map[string][2]string{"direct": {os.Getenv("DIRECT_URL"), "none"}, "proxy": {os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_API_KEY")}}
	time.Sleep(time.Duration(n) * callTakes / callers) // programs do not call at the same moment
	late := map[string][]float64{}
	for i := range callsOfCaller {
		for way, at := range ways {
			request, err := http.NewRequest("POST", at[0]+"/chat/completions", strings.NewReader(body))
			if err != nil {
				panic(err)
			}
			request.Header.Set("Authorization", "Bearer "+at[1])
			began := time.Now()
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				panic(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			if took := time.Since(began) - callTakes; i > 0 {
				late[way] = append(late[way], float64(took.Microseconds())/1000)
			}
			if response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				panic(fmt.Sprint(response.Status, err))
			}
		}
	}
	text, _ := json.Marshal(late) // numbers
	if err := os.WriteFile(filepath.Join(os.Getenv("LATE"), fmt.Sprintf("late-%d.json", n)), text, 0o644); err != nil {
		panic(err)
	}
}
