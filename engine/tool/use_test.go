package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// fails is what tools say that fail.
var fails = &record.Error{Class: record.Tool, Message: "no"}

// F30, S4.9: a tool that hangs is left after its time, and the agent is told.
func TestF30_AToolThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := Tool{Definition{Name: "t", Timeout: 300 * time.Millisecond}, func(ctx context.Context, _ *Use) (Result, error) {
			<-ctx.Done()
			return Result{Content: Text("so far"), Duration: time.Hour}, context.Cause(ctx)
		}}
		begin := time.Now()
		result, err := newSet(t, Options{}, hangs).Use(t.Context(), "t", &Use{})
		want := record.Error{Class: record.Tool, Message: "timed out after 300ms"}
		if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != want || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		if result.Duration != 300*time.Millisecond || string(result.Content) != `"so far"` {
			t.Errorf("got %+v", result)
		}
	})
}

func TestTheEndOfARunIsNoFailureOfATool(t *testing.T) {
	over := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	tool := Tool{Definition{Name: "t", Timeout: time.Hour, Retries: 3}, func(ctx context.Context, _ *Use) (Result, error) {
		cancel(over)
		<-ctx.Done()
		return Result{}, fails
	}}
	if _, err := newSet(t, Options{}, tool).Use(ctx, "t", &Use{}); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}

// Tries, and what is waited between them, are part of what a use took.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		failures, retries, attempts int
		failed                      error
		ok                          bool
		took                        time.Duration
	}{
		"none needed":  {0, 2, 1, fails, true, time.Second},
		"one needed":   {1, 2, 2, fails, true, 2*time.Second + 100*time.Millisecond},
		"all needed":   {2, 2, 3, fails, true, 3*time.Second + 300*time.Millisecond},
		"too few":      {2, 1, 2, fails, false, 2*time.Second + 100*time.Millisecond},
		"of no use":    {2, 2, 1, badCall("wrong"), false, time.Second},
		"none allowed": {1, 0, 1, fails, false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				uses := 0
				tool := Tool{Definition{Name: "t", Retries: c.retries}, func(context.Context, *Use) (Result, error) {
					time.Sleep(time.Second)
					if uses++; uses <= c.failures {
						return Result{Duration: time.Second}, c.failed
					}
					return Result{Duration: time.Second}, nil
				}}
				begin := time.Now()
				result, err := newSet(t, Options{}, tool).Use(t.Context(), "t", &Use{})
				if (err == nil) != c.ok || result.Attempts != c.attempts || result.Duration != c.took || time.Since(begin) != c.took {
					t.Errorf("got %+v, %v after %v", result, err, time.Since(begin))
				}
				if waited := c.took - time.Duration(c.attempts)*time.Second; result.Waited != waited {
					t.Errorf("waited %v, want %v", result.Waited, waited)
				}
			})
		})
	}
}

// S2.4: any tool may end the run with its result.
func TestS2_4_AToolThatBreaksTheLoop(t *testing.T) {
	tool := Tool{Definition{Name: "t", Breaks: record.ReasonToolEnded}, func(_ context.Context, use *Use) (Result, error) {
		if string(use.Arguments) == "" {
			return Result{}, fails
		}
		return Result{Content: use.Arguments}, nil
	}}
	s := newSet(t, Options{}, tool)
	result, err := s.Use(t.Context(), "t", &Use{Arguments: json.RawMessage(`{"a":1}`)})
	if err != nil || result.Ended == nil || result.Ended.Reason != "tool_ended" || string(result.Ended.Output) != `{"a":1}` {
		t.Errorf("got %+v, %v", result, err)
	}
	if result, _ := s.Use(t.Context(), "t", &Use{}); result.Ended != nil {
		t.Error("a tool that failed ended the run")
	}
}

// F34: what is too long keeps its head and its tail.
func TestF34_LongResultsAreCut(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 5, -1).Draw(t, "text"), rapid.IntRange(1, 200_000).Draw(t, "times"))
		content := Text(text)
		if rapid.Bool().Draw(t, "object") {
			content = json.RawMessage(`{"text":` + string(content) + `}`)
		}
		got := bounded(content)
		value, err := expr.ParseJSON(got)
		if err != nil || !utf8.Valid(got) {
			t.Fatalf("no JSON: %v", err)
		}
		kept, cut := value.(string)
		if len(content) <= maxResult {
			if string(got) != string(content) {
				t.Fatal("a short result was changed")
			}
			return
		}
		if !cut || len(kept) > maxResult+60 || len(text) > maxResult && !strings.Contains(kept, " bytes cut …\n") {
			t.Fatalf("%d bytes became %d", len(content), len(kept))
		}
	})
}

// F34: what a tool says of its failure is cut as well.
func TestF34_LongErrorsAreCut(t *testing.T) {
	long := &record.Error{Class: record.Tool, Message: strings.Repeat("é no ", 1_000_000)}
	fails := Tool{Definition{Name: "t"}, func(context.Context, *Use) (Result, error) { return Result{}, long }}
	_, err := newSet(t, Options{}, fails).Use(t.Context(), "t", &Use{})
	failed, ok := errors.AsType[*record.Error](err)
	if !ok || failed.Class != record.Tool || !utf8.ValidString(failed.Message) || !strings.HasPrefix(failed.Message, "é no é no ") {
		t.Fatalf("got %v", err)
	}
	if len(failed.Message) > maxFault+40 || !strings.HasSuffix(failed.Message, " … (6000000 bytes)") {
		t.Errorf("%d bytes, …%s", len(failed.Message), failed.Message[len(failed.Message)-40:])
	}
}

// F34: bytes that are not UTF-8 are kept beside the text, their head and their
// tail where they are too many.
func TestF34_BytesThatAreNoTextAreKept(t *testing.T) {
	for name, c := range map[string]struct{ written, want string }{
		"a text": {"café", ""},
		"bytes":  {"caf\xe9\n", "caf\xe9\n"},
		"JSON":   {"{\"a\":\"\xff\"}", "{\"a\":\"\xff\"}"},
		"many":   {strings.Repeat("\xff", maxResult+7), strings.Repeat("\xff", maxResult/2) + "\n… 7 bytes cut …\n" + strings.Repeat("\xff", maxResult/2)},
	} {
		says := Tool{Definition{Name: "t", Pure: true}, func(context.Context, *Use) (Result, error) { return Answer([]byte(c.written)) }}
		kept := lasting{}
		for range 2 { // two sessions
			result, err := newSet(t, Options{Memory: &Memory{Store: kept}}, says).Use(t.Context(), "t", &Use{})
			if err != nil || string(result.Bytes) != c.want {
				t.Errorf("%s: kept %.20q, want %.20q; %v", name, result.Bytes, c.want, err)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	for written, want := range map[string]struct {
		content, failed, end string
	}{
		"hello\n":                              {`"hello"`, "", ""},
		"42":                                   {`"42"`, "", ""},
		"":                                     {`""`, "", ""},
		` {"a": 1.0} `:                         {`{"a": 1.0}`, "", ""},
		"[1, 2]\n":                             {`[1, 2]`, "", ""},
		`{"a": 1`:                              {`"{\"a\": 1"`, "", ""},
		"a\xffb":                               {"\"a\uFFFDb\"", "", ""},
		"{\"a\":\"\xff\"}":                     {`"{\"a\":\"` + "\uFFFD" + `\"}"`, "", ""},
		`{}`:                                   {`{}`, "", ""},
		`{"error": "no such file"}`:            {``, "no such file", ""},
		`{"error": "no", "output": [1]}`:       {`[1]`, "no", ""},
		`{"error": "", "output": 1}`:           {`{"error": "", "output": 1}`, "", ""},
		`{"error": null}`:                      {`{"error": null}`, "", ""},
		`{"error": "no", "code": 7}`:           {`{"error": "no", "code": 7}`, "", ""},
		`{"end": "capability", "output": "x"}`: {`"x"`, "", "capability"},
		`{"end": "tool_ended"}`:                {``, "", "tool_ended"},
		`{"end": "agent_ended"}`:               {`{"end": "agent_ended"}`, "", ""}, // only an agent says so
		`{"end": "2024-01-31"}`:                {`{"end": "2024-01-31"}`, "", ""},
		`{"end": "capability", "begin": 1}`:    {`{"end": "capability", "begin": 1}`, "", ""},
		`{"output": 1}`:                        {`{"output": 1}`, "", ""},
	} {
		result, err := Answer([]byte(written))
		failed, _ := errors.AsType[*record.Error](err)
		if string(result.Content) != want.content || (err != nil) != (want.failed != "") || failed != nil && failed.Message != want.failed {
			t.Errorf("%q: got %s, %v", written, result.Content, err)
		}
		if (result.Ended != nil) != (want.end != "") || result.Ended != nil && result.Ended.Reason != want.end {
			t.Errorf("%q: it ended with %v", written, result.Ended)
		}
	}
}

// Whatever a tool writes, its result is JSON or nothing, and a failure has a class.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", "x", `{"end":"capability","output":{}}`, `{"error":"no"}`, "[1,", "{\"\xff\":1}", `{"error":{},"END":"capability"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, written []byte) {
		result, err := Answer(written)
		if failed, ok := errors.AsType[*record.Error](err); err != nil && (!ok || failed.Class != record.Tool) {
			t.Errorf("no class: %v", err)
		}
		if len(result.Content) > 0 && !json.Valid(result.Content) || !utf8.Valid(result.Content) {
			t.Errorf("%q gives %q", written, result.Content)
		}
	})
}

// counted is a pure tool that counts how often it is asked.
func counted(asked *atomic.Int64, identity string) Tool {
	return Tool{Definition{Name: "t", Pure: true, Identity: identity}, func(_ context.Context, use *Use) (Result, error) {
		n := asked.Add(1)
		if string(use.Arguments) == `{"fail":true}` {
			return Result{}, fails
		}
		return Result{Content: Text(string(use.Arguments)), Duration: time.Duration(n) * time.Second}, nil
	}}
}

// lasting remembers beyond a process.
type lasting map[[32]byte]string

func (l lasting) Recall(k [32]byte) (json.RawMessage, time.Duration, bool) {
	content, ok := l[k]
	return json.RawMessage(content), time.Minute, ok
}

func (l lasting) Keep(k [32]byte, _ string, content json.RawMessage, took time.Duration) {
	if took%time.Second != 0 {
		panic("a pause is no part of what an answer takes")
	}
	l[k] = string(content)
}

// What was waited before an answer came is not waited again.
func TestAnAnswerThatIsKnownIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		late := Tool{Definition{Name: "t", Pure: true, Retries: 1}, func(context.Context, *Use) (Result, error) {
			if tries++; tries == 1 {
				return Result{}, fails
			}
			return Result{Content: Text("x"), Duration: 2 * time.Second}, nil
		}}
		s := newSet(t, Options{Memory: &Memory{Store: lasting{}}}, late)
		first, _ := s.Use(t.Context(), "t", &Use{})
		again, _ := s.Use(t.Context(), "t", &Use{})
		if first.Waited <= 0 || first.Duration != first.Waited+2*time.Second || again.Waited != 0 || again.Duration != 2*time.Second {
			t.Errorf("first %+v, then %+v", first, again)
		}
	})
}

func TestPureToolsAreAskedOnceInAllSessions(t *testing.T) {
	var asked atomic.Int64
	kept := lasting{}
	for range 3 {
		s := newSet(t, Options{Memory: &Memory{Store: kept}}, counted(&asked, ""))
		for range 2 {
			result, err := s.Use(t.Context(), "t", &Use{Arguments: json.RawMessage(`{"a":1}`)})
			if err != nil || string(result.Content) != `"{\"a\":1}"` {
				t.Errorf("got %+v, %v", result, err)
			}
		}
		_, _ = s.Use(t.Context(), "t", &Use{Arguments: json.RawMessage(`{"fail":true}`)})
	}
	if asked.Load() != 4 || len(kept) != 1 {
		t.Errorf("asked %d times, %d are kept", asked.Load(), len(kept))
	}
}

func TestRunsThatAskTheSameAtOnceAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		slow := Tool{Definition{Name: "t", Pure: true}, func(ctx context.Context, _ *Use) (Result, error) {
			time.Sleep(time.Second)
			if asked.Add(1) == 1 {
				return Result{}, fails // who waits then tries itself
			}
			return Result{Content: Text("x")}, nil
		}}
		s := newSet(t, Options{Memory: &Memory{}}, slow)
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		var failures atomic.Int64
		for i := range 20 {
			ctx := t.Context()
			if i == 19 {
				ctx = impatient
				synctest.Wait()
			}
			wg.Go(func() {
				if _, err := s.Use(ctx, "t", &Use{}); err != nil {
					failures.Add(1)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 2 || failures.Load() != 2 {
			t.Errorf("asked %d times, %d failures", asked.Load(), failures.Load())
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	m := &Memory{}
	big := Text(strings.Repeat("x", maxResult-10))
	s := newSet(t, Options{Memory: m}, Tool{Definition{Name: "t", Pure: true}, func(context.Context, *Use) (Result, error) { return Result{Content: big}, nil }})
	for i := range 2 * mostRemembered / len(big) {
		arguments, _ := expr.AppendJSON(nil, []any{i})
		if _, err := s.Use(t.Context(), "t", &Use{Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	if m.bytes > mostRemembered || len(m.known) != len(m.kept) || len(m.known) < 100 {
		t.Errorf("%d bytes of %d answers", m.bytes, len(m.known))
	}
}

func TestToolsAreUsedFromManyRunsAtOnce(t *testing.T) {
	var asked atomic.Int64
	s := newSet(t, Options{Memory: &Memory{}, Schemas: &Schemas{}}, counted(&asked, ""))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				arguments, _ := expr.AppendJSON(nil, []any{i})
				_ = s.Check("t", arguments)
				_, _ = s.Use(context.Background(), "t", &Use{Arguments: arguments})
			}
		})
	}
	wg.Wait()
	if asked.Load() != 50 {
		t.Errorf("asked %d times", asked.Load())
	}
}
