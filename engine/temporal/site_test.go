package temporal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// installCommand builds agentbench-temporal, in the root of the repository.
const installCommand = "go -C engine/temporal install ./agentbench-temporal"

// programFolder has what program has built; "": it has not.
var programFolder string

// program builds agentbench-temporal once.
var program = sync.OnceValues(func() (path string, err error) {
	if programFolder, err = os.MkdirTemp("", "agentbench-temporal-"); err != nil {
		return "", err
	}
	build := exec.Command("go", strings.Fields(installCommand)[1:]...)
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+programFolder, "GOFLAGS=-trimpath -ldflags=-s") // it is started within containers, too
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(programFolder, "agentbench-temporal"), nil
})

// itself is the program. Short tests start no processes of it.
func itself(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	path, err := program()
	check(t, err)
	return path
}

// safe is a buffer that a process writes while it is read.
type safe struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safe) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *safe) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.Bytes(), []byte(text))
}

// site is a folder with a suite, a server and workers.
type site struct {
	testing.TB
	*devServer
	dir, program, store string
	env                 []string // of all its processes, in addition to those of this process
	workers             []*exec.Cmd
}

// newSite writes the files of a suite, for the shared server or one that the test kills.
func newSite(t testing.TB, server func(testing.TB) *devServer, files map[string]string) *site {
	t.Helper()
	s := &site{TB: t, dir: t.TempDir(), program: itself(t), devServer: server(t)}
	s.store = filepath.Join(s.dir, "store")
	s.write(files)
	t.Cleanup(func() {
		for n := range s.workers {
			s.killWorker(n)
		}
	})
	return s
}

func (s *site) write(files map[string]string) {
	s.Helper()
	for name, text := range files {
		path := filepath.Join(s.dir, "suite", name)
		check(s, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
}

// inBucket makes the store a bucket.
func (s *site) inBucket(variables func(string) string) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		s.env = append(s.env, name+"="+variables(name))
	}
	s.store = "s3://bench/some/prefix"
}

// command is one of agentbench-temporal.
func (s *site) command(args ...string) *exec.Cmd {
	c := exec.Command(s.program, args...)
	c.Dir = filepath.Join(s.dir, "suite")
	c.Env = append(append(os.Environ(), "OPENAI_API_KEY=none", "TMPDIR="+s.dir), s.env...)
	return c
}

// there are the flags that name the server and the store.
func (s *site) there() []string {
	return []string{"--address", s.Address, "--task-queue", s.Queue, "--store", s.store}
}

// startWorker starts the n-th worker, also in place of one that was killed.
func (s *site) startWorker(n int, args ...string) {
	s.Helper()
	w := s.command(append(append([]string{"worker", "--dir", s.workerDir(n)}, s.there()...), args...)...)
	check(s, w.Start())
	for len(s.workers) <= n {
		s.workers = append(s.workers, nil)
	}
	s.workers[n] = w
}

func (s *site) workerDir(n int) string { return filepath.Join(s.dir, "w"+strconv.Itoa(n)) }

func (s *site) killWorker(n int) {
	if w := s.workers[n]; w != nil {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
}

// endWorkers interrupts all, and waits for them.
func (s *site) endWorkers() {
	s.Helper()
	for _, w := range s.workers {
		check(s, w.Process.Signal(os.Interrupt))
		_ = w.Wait()
	}
}

// byWorkers is the command that has workers make the suite.
func (s *site) byWorkers(out string, more ...string) *exec.Cmd {
	args := append([]string{"run", "suite.yaml", "--executor", "temporal", "--worker-timeout", "6s", "-q", "--out", out}, s.there()...)
	return s.command(append(args, more...)...)
}

// begin starts a command, and gives what it says.
func (s *site) begin(c *exec.Cmd) *safe {
	s.Helper()
	said := &safe{}
	c.Stdout, c.Stderr = said, said
	check(s, c.Start())
	s.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return said
}

// must runs a command, and gives what it printed.
func (s *site) must(c *exec.Cmd) string {
	s.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v\n%s", c.Args[1:], err, out)
	}
	return string(out)
}

// fails runs a command that ends with a code, and says each of some texts once.
func (s *site) fails(c *exec.Cmd, code int, says ...string) {
	s.Helper()
	out, err := c.CombinedOutput()
	failed, _ := errors.AsType[*exec.ExitError](err)
	if failed == nil || failed.ExitCode() != code {
		s.Errorf("%v: %v, want code %d\n%s", c.Args[1:], err, code, out)
	}
	for _, text := range says {
		if n := bytes.Count(out, []byte(text)); n != 1 {
			s.Errorf("%v says %q %d times:\n%s", c.Args[1:], text, n, out)
		}
	}
}

// done is how many runs of a folder are on the disk.
func (s *site) done(out string) int {
	text, _ := os.ReadFile(filepath.Join(s.dir, "suite", out, "records.jsonl"))
	return bytes.Count(text, []byte{'\n'})
}

// records are those of a folder that last, each once.
func (s *site) records(out string, form func(*record.Run)) map[string]string {
	s.Helper()
	found := map[string]string{}
	for run, err := range record.ReadRuns(filepath.Join(s.dir, "suite", out)) {
		check(s, err)
		if !run.Outcome.Counts() {
			s.Errorf("run %s: %+v", run.ID, run.Outcome)
		}
		run = run.WithoutVolatile()
		form(run)
		text, err := json.Marshal(run)
		check(s, err)
		if found[run.ID] != "" {
			s.Errorf("run %s is there twice", run.ID)
		}
		found[run.ID] = string(text)
	}
	return found
}

// scores are the lines of the scores of a folder.
func (s *site) scores(out string) []string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "suite", out, "scores.jsonl"))
	check(s, err)
	return slices.Sorted(strings.Lines(string(text)))
}

// alike holds the runs and scores of two folders to be the same.
func (s *site) alike(here, there string, runs int, form func(*record.Run)) {
	s.Helper()
	a, b := s.records(here, form), s.records(there, form)
	if len(a) != runs || !maps.Equal(a, b) {
		s.Errorf("%d runs %s, %d %s, want %d, or they differ", len(a), here, len(b), there, runs)
		for id := range a {
			if a[id] != b[id] {
				s.Fatalf("%s\n%s", a[id], b[id])
			}
		}
	}
	if !slices.Equal(s.scores(here), s.scores(there)) {
		s.Error("the scores differ")
	}
}

// timeless takes the times away, which at a real server are never the same.
func timeless(run *record.Run) {
	run.Elapsed = 0
	for i := range run.Iterations {
		it := &run.Iterations[i]
		it.Start, it.End, it.Working = 0, 0, 0
		for n := range it.Calls {
			c := &it.Calls[n]
			c.Start, c.Duration, c.Arrived, c.FirstByte, c.Ended = 0, 0, 0, 0, 0
		}
	}
	if run.Next != nil {
		run.Next.Arrived = 0
	}
}

// ledger is what a folder says was spent.
func (s *site) ledger(out string) *record.Balance {
	s.Helper()
	dir := filepath.Join(s.dir, "suite", out)
	m, err := record.ReadManifest(dir)
	check(s, err)
	b, err := record.ReadLedger(dir, &m)
	check(s, err)
	return b
}

// undamaged holds the states of a folder to what its runs name.
func (s *site) undamaged(out string) {
	s.Helper()
	if damage, err := results.DamagedStates(s.Context(), filepath.Join(s.dir, "suite", out)); err != nil || !damage.None() {
		s.Errorf("%s: %+v, %v", out, damage, err)
	}
}

// files are the contents of those below a folder, with their modes.
func (s *site) files(dir string) map[string]string {
	s.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		found[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			found[name] += string(text)
			return err
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return found
}

// tasks are so many tasks.
func tasks(n int) string {
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\"}\n", i, i)
	}
	return rows.String()
}

const trialLoop = `loop: improve
agent: {model: m, reply: json}
prompt: "{{ task.input }}, again: {{ iteration }}"
terminate: {max_iterations: 2}
`

const simulated = "{provider: simulate, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}"

// plainSuite has so many runs of one call each.
func plainSuite(n int, model string, concurrency int) map[string]string {
	return map[string]string{
		"tasks.jsonl": tasks(n), "a.loop.yaml": trialLoop,
		"suite.yaml": fmt.Sprintf(`suite: plain
tasks: tasks.jsonl
models: {m: %s}
configurations: [{name: once, loop: a.loop.yaml, set: {terminate.max_iterations: 1}}]
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
concurrency: %d
`, model, concurrency),
	}
}
