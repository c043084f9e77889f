package temporal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
)

// The program says what is wrong in one line, with a hint, and ends with the code for it.
func TestTheProgramSaysWhatIsWrong(t *testing.T) {
	files := scaleSuite(2, "{provider: simulate}", 1)
	files["long.yaml"] = files["suite.yaml"] + "budget: {duration: 1000h}\n"
	s := newSite(t, false, files)
	s.must(exec.Command(cli(t), "operator", "namespace", "create", "--address", s.Address, "--namespace", "short", "--retention", "1h"))
	closed := fmt.Sprint("127.0.0.1:", freePort(t))
	noStore := filepath.Join(s.dir, "suite", "suite.yaml", "in")
	run, worker, long := []string{"run", "suite.yaml", "--executor", "temporal"}, []string{"worker"}, []string{"run", "long.yaml", "--executor", "temporal"}
	var said sync.WaitGroup // one waits for a server for ten seconds
	for _, c := range []struct {
		command         []string
		server, its, at string // address, namespace, store
		code            int
		want, hint      string
	}{
		{run, closed, "default", s.store, exit.NotMeasured, "no Temporal server answers at " + closed, "temporal server start-dev"},
		{worker, closed, "default", s.store, exit.NotMeasured, "no Temporal server answers at " + closed, "temporal server start-dev"},
		{run, s.Address, "absent", s.store, exit.NotMeasured, "has no namespace absent", "temporal operator namespace create --namespace absent"},
		{worker, s.Address, "absent", s.store, exit.NotMeasured, "has no namespace absent", "temporal operator namespace create --namespace absent"},
		{long, s.Address, "short", s.store, exit.NotMeasured, "keeps ended workflows for 1h0m0s, and the suite may take 1000h0m0s", "--retention 1024h"},
		{run, s.Address, "default", noStore, exit.NotMeasured, "the store " + noStore + " cannot be used", "nothing was run"},
		{worker, s.Address, "default", noStore, exit.NotMeasured, "the store " + noStore + " cannot be used", "workers and the coordinator write to it"},
		{run, s.Address, "default", "", exit.WrongUsage, "--store is missing", "a folder that all machines share"},
		{[]string{"run", "-", "--executor", "temporal"}, s.Address, "default", s.store, exit.WrongUsage, "a suite from stdin has no folder", "write it to a file"},
		{append(run, "--store-timeout", "1ms"), s.Address, "default", s.store, exit.WrongUsage, "--store-timeout 1ms: want at least 1s", "1m"},
		{[]string{"worker", "--store-timeout", "1ms"}, s.Address, "default", s.store, exit.WrongUsage, "--store-timeout 1ms: want at least 1s", "1m"},
	} {
		said.Go(func() {
			run := s.command(append(c.command, "--address", c.server, "--namespace", c.its, "--store", c.at)...)
			run.Stdin = strings.NewReader(files["suite.yaml"])
			var said bytes.Buffer
			run.Stderr = &said
			failed, _ := errors.AsType[*exec.ExitError](run.Run())
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			if failed == nil || failed.ExitCode() != c.code || len(lines) != 2 || !strings.HasPrefix(lines[0], "agentbench: ") || !strings.Contains(lines[0], c.want) ||
				!strings.HasPrefix(lines[1], "hint: ") || !strings.Contains(lines[1], c.hint) {
				t.Errorf("%q: %v, want the code %d, %q and %q:\n%s", run.Args[1:], failed, c.code, c.want, c.hint, said.String())
			}
		})
	}
	said.Wait()
	// Without a limit of time a namespace that keeps little is worth a warning.
	s.Queue = "short"
	w := s.command("worker", "--address", s.Address, "--namespace", "short", "--store", s.store, "--task-queue", s.Queue)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	s.workers = append(s.workers, w)
	if said := s.must(s.elsewhere("there", "--namespace", "short")); !strings.Contains(said, "warning: the namespace short keeps ended workflows for 1h0m0s") {
		t.Errorf("it says %s", said)
	}
}

// A run says what it sends to workers, and warns of what it does not; with -q it only warns.
func TestWhatIsSentIsSaid(t *testing.T) {
	files := scaleSuite(2, "{provider: simulate}", 1)
	s := newSite(t, false, files)
	s.startWorker(0)
	loud := func(out string) *exec.Cmd {
		c := s.elsewhere(out)
		c.Args = slices.DeleteFunc(c.Args, func(arg string) bool { return arg == "-q" })
		return c
	}
	in := " of the folder " + filepath.Join(s.dir, "suite")
	if said := s.must(loud("loud")); !strings.Contains(said, "\nworkers get 3 files (") && !strings.HasPrefix(said, "workers get 3 files (") || !strings.Contains(said, in) {
		t.Errorf("it says %s", said)
	}
	if said := s.must(s.elsewhere("quiet")); strings.Contains(said, "workers get") {
		t.Errorf("with -q it says %s", said)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "suite/.env"), []byte("KEY=secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := s.must(s.elsewhere("secret")); !strings.Contains(said, "warning: workers get 3 files (") || !strings.Contains(said, "), without .env"+in) {
		t.Errorf("it says %s", said)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "suite/.gitignore"), []byte("*.jsonl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.elsewhere("ignored").CombinedOutput()
	if failed, _ := errors.AsType[*exec.ExitError](err); failed == nil || failed.ExitCode() != exit.WrongUsage || !bytes.Contains(out, []byte("may hold secrets: tasks.jsonl\nhint: send it by an exception in .gitignore, such as !tasks.jsonl")) {
		t.Errorf("%v: %s", err, out)
	}
}

// A worker whose environment makes another suite of the same files refuses to run it, and says
// so once: nothing was run.
func TestAWorkerWithAnotherEnvironment(t *testing.T) {
	files := scaleSuite(2, "{provider: simulate}", 1)
	files["suite.yaml"] = "roots: {data: {env: QUESTIONS}}\n" + strings.Replace(files["suite.yaml"], "tasks: tasks.jsonl", "tasks: data:/tasks.jsonl", 1)
	files["other/tasks.jsonl"] = tasks(3)
	s := newSite(t, false, files)
	s.env = []string{"QUESTIONS=" + filepath.Join(s.dir, "suite/other")}
	s.startWorker(0)
	s.env = []string{"QUESTIONS=" + filepath.Join(s.dir, "suite")}
	out, err := s.elsewhere("there").CombinedOutput()
	if failed, _ := errors.AsType[*exec.ExitError](err); failed == nil || failed.ExitCode() != exit.NotMeasured || bytes.Count(out, []byte("the suite is another one on this machine")) != 1 ||
		bytes.Count(out, []byte("hint: ")) != 1 || len(s.files(filepath.Join(s.store, "runs"))) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
