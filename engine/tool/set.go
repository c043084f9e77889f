package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Options are what the tools of several sets share. The zero Options share nothing.
type Options struct {
	Memory  *Memory  // of pure tools; nil: all are asked
	Schemas *Schemas // compiled before; nil: all are compiled
}

// Set are the tools that an agent may use, by their names.
type Set struct {
	members []member
	at      map[string]int
	memory  *Memory
}

// member is a tool with its schema; nil takes any object.
type member struct {
	Tool
	schema *expr.JSONSchema
}

// NewSet fails where two tools have one name, and where the parameters of a tool
// of the suite's own are not a JSON Schema. Arguments of a server's tool are then not
// checked: the suite cannot repair what is wrong with its schema.
func NewSet(tools []Tool, o Options) (*Set, error) {
	s := &Set{at: make(map[string]int, len(tools)), memory: o.Memory}
	for _, t := range tools {
		if _, taken := s.at[t.Name]; taken {
			return nil, fmt.Errorf("two tools are called %q", t.Name)
		}
		schema, err := o.Schemas.compile(t.Parameters)
		if err != nil && t.Server == "" {
			return nil, fmt.Errorf("the parameters of the tool %q are not a JSON Schema: %w", t.Name, err)
		}
		s.at[t.Name] = len(s.members)
		s.members = append(s.members, member{t, schema})
	}
	return s, nil
}

// Definitions are those of the tools, in their order.
func (s *Set) Definitions() []Definition {
	all := make([]Definition, len(s.members))
	for i := range s.members {
		all[i] = s.members[i].Definition
	}
	return all
}

// Definition is that of the tool of that name.
func (s *Set) Definition(name string) (Definition, bool) {
	m := s.find(name)
	if m == nil {
		return Definition{}, false
	}
	return m.Definition, true
}

func (s *Set) find(name string) *member {
	i, known := s.at[name]
	if !known {
		return nil
	}
	return &s.members[i]
}

// maxArguments is how many bytes the arguments of one call may have.
const maxArguments = 1 << 20

// Check reports everything that is wrong with a call, so that the model can correct it at
// once; nil: the call can be made. Its class is always BadCall.
func (s *Set) Check(name string, arguments json.RawMessage) *record.Error {
	m := s.find(name)
	switch {
	case m == nil:
		return badCall("%s", s.unknown(name))
	case len(arguments) > maxArguments:
		return badCall("the arguments of %s are %d bytes long; %d are allowed", name, len(arguments), maxArguments)
	}
	if wrong := violations(m.schema, arguments); wrong != "" {
		return badCall("the arguments of %s are wrong: %s", name, wrong)
	}
	return nil
}

func (s *Set) unknown(name string) string {
	const most = 30 // names that are listed
	names := make([]string, len(s.members))
	for i := range s.members {
		names[i] = s.members[i].Name
	}
	said := fmt.Sprintf("there is no tool %q", secret.Shorten(name, mostOfName))
	if near := source.Closest(name, names); near != "" {
		said += fmt.Sprintf("; did you mean %q?", near)
	}
	switch more := len(names) - most; {
	case len(names) == 0:
		return said + "; there are none"
	case more > 0:
		return fmt.Sprintf("%s; the tools are %s and %d more", said, strings.Join(names[:most], ", "), more)
	}
	return said + "; the tools are " + strings.Join(names, ", ")
}

func badCall(format string, args ...any) *record.Error {
	return record.Errorf(record.BadCall, format, args...)
}

// mostOfName is how many bytes of a name that a model made up are shown.
const mostOfName = 100

// maxResult is how many bytes of a result are kept: its head and its tail, half
// of it each.
const maxResult = 256 << 10

// bounded keeps a result from filling the conversation. What is cut becomes a text.
func bounded(content json.RawMessage) json.RawMessage {
	if len(content) <= maxResult {
		return content
	}
	text := string(content)
	if value, err := expr.ParseJSON(content); err == nil {
		if written, ok := value.(string); ok {
			text = written
		}
	}
	if len(text) <= maxResult {
		return Text(text)
	}
	head, between, tail := headAndTail(text)
	return Text(strings.ToValidUTF8(head, "") + between + strings.ToValidUTF8(tail, ""))
}

// boundedBytes keeps the head and the tail of bytes that are not text.
func boundedBytes(written []byte) []byte {
	if len(written) <= maxResult {
		return written
	}
	head, between, tail := headAndTail(written)
	return slices.Concat(head, []byte(between), tail)
}

// headAndTail are the head and the tail of what is too long, and the note between them.
func headAndTail[T string | []byte](written T) (head T, between string, tail T) {
	const half = maxResult / 2
	return written[:half], fmt.Sprintf("\n… %d bytes cut …\n", len(written)-2*half), written[len(written)-half:]
}

// maxFault is how many bytes of what is said of a failure are kept.
const maxFault = 4 << 10

func boundedFault(err error) error {
	failed, ok := errors.AsType[*record.Error](err)
	if !ok || len(failed.Message) <= maxFault {
		return err
	}
	return &record.Error{Class: failed.Class, Message: secret.Shorten(failed.Message, maxFault)}
}

// Text is a text as the content of a result; bytes that are not UTF-8 become
// U+FFFD.
func Text(text string) json.RawMessage {
	encoded, _ := expr.AppendJSON(make([]byte, 0, len(text)+2), strings.ToValidUTF8(text, "\uFFFD")) // a string always is JSON
	return encoded
}

// Memory has what pure tools answered. It is safe for concurrent use, and the
// zero value is ready. Several runs that ask the same at the same time ask once.
type Memory struct {
	// Store also keeps them beyond the process; nil: nothing does.
	Store Store

	mu    sync.Mutex
	known map[key]*answer
	kept  []key // of those with a result, the oldest first
	bytes int   // of their contents
}

// Store keeps the answers of pure tools, and how long they took to come. It is
// safe for concurrent use and handles its own errors.
type Store interface {
	Recall(key [sha256.Size]byte) (content json.RawMessage, took time.Duration, ok bool)
	Keep(key [sha256.Size]byte, name string, content json.RawMessage, took time.Duration)
}

// mostRemembered is how many bytes of contents are kept. Runs that may share
// answers are neighbours in a plan, so the oldest are missed least.
const mostRemembered = 64 << 20

// answer is what a tool gave for one set of arguments.
type answer struct {
	over   chan struct{} // closed when the call ended
	result *Result       // nil: it failed
}

type key [sha256.Size]byte

// keyOf is the same for arguments that are the same value, however written.
func keyOf(d *Definition, arguments json.RawMessage) key {
	h := sha256.New()
	for _, part := range []string{"agentbench tool 1", d.Server, d.Name, d.Identity, string(d.Parameters), string(record.Canonical(arguments))} {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return key(h.Sum(nil))
}

// recall gives what is remembered, or asks and remembers what did not fail.
func (m *Memory) recall(ctx context.Context, name string, k key, ask func() (Result, error)) (Result, error) {
	for {
		m.mu.Lock()
		a, known := m.known[k]
		if !known {
			if m.known == nil {
				m.known = map[key]*answer{}
			}
			a = &answer{over: make(chan struct{})}
			m.known[k] = a
		}
		m.mu.Unlock()
		if !known {
			return m.answer(name, k, a, ask)
		}
		select {
		case <-a.over:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
		if a.result != nil {
			found := *a.result // others hold it, too: it is only read
			found.Duration -= found.Waited
			found.Cached, found.Attempts, found.Waited = true, 0, 0
			return found, nil
		}
	}
}

// answer takes the answer that lasts, or asks, and wakes those who wait. Where the call
// failed or panicked, the next one asks again. An answer that ends the run, or is not
// text, is more than its content and does not last.
func (m *Memory) answer(name string, k key, a *answer, ask func() (Result, error)) (result Result, err error) {
	given := false
	defer func() {
		if given {
			a.result = &result
		}
		m.settle(k, a)
		close(a.over)
	}()
	if m.Store != nil {
		if content, took, ok := m.Store.Recall(k); ok {
			given = true
			return Result{Content: content, Duration: took, Cached: true}, nil
		}
	}
	result, err = ask()
	if given = err == nil; given && m.Store != nil && result.Ended == nil && result.Bytes == nil {
		m.Store.Keep(k, name, result.Content, result.Duration-result.Waited)
	}
	return result, err
}

// settle keeps an answer that came, and forgets one that did not.
func (m *Memory) settle(k key, a *answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.result == nil {
		delete(m.known, k)
		return
	}
	m.kept = append(m.kept, k)
	m.bytes += a.result.size()
	for m.bytes > mostRemembered {
		m.bytes -= m.known[m.kept[0]].result.size()
		delete(m.known, m.kept[0])
		m.kept = m.kept[1:]
	}
}

func (r *Result) size() int { return len(r.Content) + len(r.Bytes) }

// Schemas are compiled once, however many sets their tools are in. The zero
// value is ready, and safe for concurrent use.
type Schemas struct {
	mu   sync.Mutex
	made map[string]*expr.JSONSchema
}

// compile also takes nil, which is any object. Beside an error it gives that, too.
func (s *Schemas) compile(text json.RawMessage) (*expr.JSONSchema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if made, known := s.made[string(text)]; known {
			return made, nil
		}
	}
	made, err := expr.CompileSchema(text)
	if fault, ok := errors.AsType[*expr.SchemaFault](err); ok && len(fault.Violations) > 0 {
		err = errors.New(listed(fault.Violations))
	}
	if err != nil {
		return nil, err
	}
	if s != nil {
		if s.made == nil {
			s.made = map[string]*expr.JSONSchema{}
		}
		s.made[string(text)] = made
	}
	return made, nil
}

// violations are what is wrong with arguments, "" where nothing is. Missing arguments are
// an empty object; without a schema any object is right.
func violations(s *expr.JSONSchema, arguments json.RawMessage) string {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	value, err := expr.ParseJSON(arguments)
	if err != nil {
		return "they are not JSON: " + err.Error()
	}
	if _, object := value.(*expr.Object); !object {
		return "they are no object"
	}
	if s == nil {
		return ""
	}
	wrong, err := s.Violations(value)
	if err != nil {
		return "they cannot be checked: " + err.Error()
	}
	return listed(wrong)
}

// listed are violations with their places, in the order of both.
func listed(all []expr.Violation) string {
	const most = 10
	slices.SortFunc(all, func(a, b expr.Violation) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What))
	})
	more := ""
	if len(all) > most {
		more = fmt.Sprintf("; and %d more", len(all)-most)
		all = all[:most]
	}
	lines := make([]string, len(all))
	for i := range all {
		v := &all[i]
		for _, key := range v.Path {
			lines[i] += "/" + secret.Shorten(key, mostOfName)
		}
		if lines[i] != "" {
			lines[i] += ": "
		}
		lines[i] += v.What
	}
	return strings.Join(lines, "; ") + more
}
