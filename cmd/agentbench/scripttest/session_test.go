package scripttest

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

// A session carries out the commands of a script, one after the other, in one process: to start the program takes longer than most
// commands. What a shell starts, and what runs in the background, are processes of their own; with the variable APART set all are.
type session struct {
	inherited []string // the variables that every script has
	changed   []string // the names of those that this one sets
	place     string   // the folder and the variables of the process
	process   *exec.Cmd
	said      bytes.Buffer
	requests  *gob.Encoder
	answers   *gob.Decoder
	end       func()
}

// sessionKey is where a script has its session.
type sessionKey struct{}

// answer is what a command did.
type answer struct {
	Stdout, Stderr []byte
	Code           int
}

// agentbench is a line of a script: agentbench ARGUMENTS...
func agentbench(ts *testscript.TestScript, neg bool, args []string) {
	if a := carryOut(ts, args); (a.Code != 0) != neg {
		ts.Fatalf("exit code %d", a.Code)
	}
}

// exits is a line of a script that tells the exit code: exits CODE agentbench ARGUMENTS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "agentbench" {
		ts.Fatalf("usage: exits CODE agentbench ARGUMENTS...")
	}
	if a := carryOut(ts, args[2:]); strconv.Itoa(a.Code) != args[0] {
		ts.Fatalf("exit code %d", a.Code)
	}
}

// each is a line of a script: each FILE CODE PATTERN. Every line of the file is a command that ends with this exit code, and what it
// writes to stderr matches the pattern.
func each(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: each FILE CODE PATTERN")
	}
	want := regexp.MustCompile("(?m)" + args[2])
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		a := carryOut(ts, strings.Fields(line))
		if strconv.Itoa(a.Code) != args[1] || !want.Match(a.Stderr) {
			ts.Fatalf("%sexit code %d: %s", line, a.Code, a.Stderr)
		}
	}
}

func carryOut(ts *testscript.TestScript, args []string) (a answer) {
	s := ts.Value(sessionKey{}).(*session)
	if s.end == nil {
		script, err := os.ReadFile(filepath.Join(scripts, ts.Name()+".txtar"))
		ts.Check(err)
		for _, set := range regexp.MustCompile(`(?m)^(?:\[\S+\] )*env (\w+)=`).FindAllSubmatch(script, -1) {
			s.changed = append(s.changed, string(set[1]))
		}
		ts.Defer(func() { s.end() })
	}
	ts.Check(s.begin(ts))
	err := s.requests.Encode(args)
	if err == nil {
		err = s.answers.Decode(&a)
	}
	if err != nil {
		s.end()
		ts.Fatalf("%v\n%s", err, s.said.Bytes())
	}
	_, _ = ts.Stdout().Write(a.Stdout)
	_, _ = ts.Stderr().Write(a.Stderr)
	return a
}

// begin starts the process, unless one runs in the folder of the script with the same variables.
func (s *session) begin(ts *testscript.TestScript) error {
	dir, env := ts.MkAbs("."), slices.Clone(s.inherited)
	for i, name := range env {
		name, _, _ = strings.Cut(name, "=")
		env[i] = name + "=" + ts.Getenv(name)
	}
	for _, name := range s.changed {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	place := fmt.Sprintf("%q", append(env, "PWD="+dir))
	if s.place == place && os.Getenv("APART") == "" {
		return nil
	}
	if s.end != nil {
		s.end()
	}
	s.place, s.said = place, bytes.Buffer{}
	s.process = exec.Command("session")
	s.process.Dir, s.process.Env, s.process.Stderr = dir, append(env, "PWD="+dir), &s.said
	in, err := s.process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	s.requests, s.answers = gob.NewEncoder(in), gob.NewDecoder(out)
	s.end = sync.OnceFunc(func() {
		_ = in.Close()
		_ = s.process.Wait() // what it said is kept
	})
	return s.process.Start()
}

// serve is the process of a session.
func serve() {
	debug.SetGCPercent(400) // it is small, and ends soon
	requests, answers := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var args []string
		if err := requests.Decode(&args); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		a, err := do(args)
		if err == nil {
			err = answers.Encode(a)
		}
		if err != nil {
			panic(err)
		}
	}
}

// do carries out a command. Like a process it has pipes of its own.
func do(args []string) (a answer, err error) {
	os.Args = append([]string{"agentbench"}, args...)
	stdin, none, err := os.Pipe()
	if err != nil {
		return a, err
	}
	defer stdin.Close()
	if err := none.Close(); err != nil {
		return a, err
	}
	stdout, printed, err := os.Pipe()
	if err != nil {
		return a, err
	}
	stderr, told, err := os.Pipe()
	if err != nil {
		return a, err
	}
	var errs [2]error
	var reading sync.WaitGroup
	reading.Go(func() { a.Stdout, errs[0] = io.ReadAll(stdout) })
	reading.Go(func() { a.Stderr, errs[1] = io.ReadAll(stderr) })
	os.Stdin, os.Stdout, os.Stderr = stdin, printed, told
	a.Code = command.Main()
	closed := errors.Join(printed.Close(), told.Close())
	reading.Wait()
	return a, errors.Join(closed, stdout.Close(), stderr.Close(), errs[0], errs[1])
}
