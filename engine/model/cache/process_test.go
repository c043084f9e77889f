package cache

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The environment of a copy of this test that fills a cache.
const (
	fillDir  = "AGENTBENCH_TEST_CACHE_FILL"
	fillFrom = "AGENTBENCH_TEST_CACHE_FROM"
	fillTo   = "AGENTBENCH_TEST_CACHE_TO"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(fillDir); dir != "" {
		os.Exit(fillAsProcess(dir))
	}
	os.Exit(m.Run())
}

// fillAsProcess asks for a range of texts, says so, and gives the exit code.
func fillAsProcess(dir string) int {
	from, _ := strconv.Atoi(os.Getenv(fillFrom))
	to, _ := strconv.Atoi(os.Getenv(fillTo))
	store := Open(dir, Options{Warn: func(err error) { fmt.Fprintln(os.Stderr, err) }})
	m := Wrap(&counting{}, store, openAI, On)
	for i := from; i < to; i++ {
		text := fmt.Sprint(i % 100)
		reply, err := m.Call(context.Background(), ask(text))
		if err != nil || !strings.HasSuffix(reply.Text, " to "+text) {
			fmt.Fprintf(os.Stderr, "asked %s: %+v, %v\n", text, reply, err)
			return 1
		}
		fmt.Println(text)
	}
	return 0
}

func filling(t *testing.T, dir string, from, to int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), fillDir+"="+dir, fmt.Sprintf("%s=%d", fillFrom, from), fmt.Sprintf("%s=%d", fillTo, to))
	return c
}

// Processes with one cache get answers to what they asked, and leave nothing
// but whole entries.
func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var processes []*exec.Cmd
	var outputs []*strings.Builder
	for i := range 2 {
		c, output := filling(t, dir, 50*i, 50*i+400), &strings.Builder{}
		c.Stderr = output
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		processes, outputs = append(processes, c), append(outputs, output)
	}
	for i, c := range processes {
		if err := c.Wait(); err != nil || outputs[i].Len() > 0 {
			t.Errorf("process %d: %v\n%s", i, err, outputs[i])
		}
	}
	checkWhole(t, dir, 100, 0)
}

// checkWhole expects so many whole entries, and at most so many left-over files.
func checkWhole(t *testing.T, dir string, entries, leftOver int) {
	t.Helper()
	for path, content := range contents(t, dir) {
		if strings.Contains(path, temporaryPrefix) {
			leftOver--
			continue
		}
		entries--
		if _, err := decode([]byte(content)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if entries > 0 || leftOver < 0 {
		t.Errorf("%d entries are missing, %d left-over files are too many", entries, -leftOver)
	}
}

// F1, P2: a process killed while it writes leaves whole entries, and what it had
// answered is not called again.
func TestF1_KilledWhileItWrites(t *testing.T) {
	dir := t.TempDir()
	const kills = 8
	for kill := range kills {
		c := filling(t, dir, 10*kill, 1<<30)
		answered, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answered)
		for range 5 + 3*kill {
			lines.Scan()
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // it was killed
		offline := Wrap(nil, Open(dir, Options{}), openAI, Only)
		for i := 10 * kill; i < 10*kill+5+3*kill; i++ {
			checkAnswer(t, offline, t.Context(), fmt.Sprint(i%100))
		}
	}
	checkWhole(t, dir, 5, kills)
}
