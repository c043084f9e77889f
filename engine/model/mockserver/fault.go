package mockserver

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec/source"
)

// The kinds of faults besides statuses.
const (
	reset     = "reset"
	slow      = "slow"
	stall     = "stall"
	cut       = "cut"
	halfJSON  = "half-json"
	wrongType = "wrong-type"
	refusal   = "refusal"
	empty     = "empty"
)

// Kind is a fault as the manual lists it.
type Kind struct{ Name, About string }

// Kinds are the faults. Any other status from 400 to 599 is a kind, too.
var Kinds = []Kind{
	{"429", "too many requests, without Retry-After"},
	{"429:retry-after=2", "too many requests, with Retry-After: 2"},
	{"500", "an error of the server"},
	{"529", "Anthropic's status for a server with too much to do"},
	{reset, "the connection is reset before the answer"},
	{slow, "the answer begins later, by 5s or slow:by=TIME"},
	{stall, "half an answer, then nothing more"},
	{cut, "half an answer, then the end of the connection"},
	{halfJSON, "JSON that ends inside, in an answer that is whole"},
	{wrongType, "a number in place of the list of what is said"},
	{refusal, "no text, stopped by a content filter"},
	{empty, "an empty reply"},
}

// Fault is what goes wrong, and with which requests. Where none of Every, First, At and Share is set, it goes wrong with all.
type Fault struct {
	Kind       string
	RetryAfter string        // seconds, of a status; "": the header is not sent
	By         time.Duration // of the kind slow

	Every int     // each n-th request within the limit
	First int     // the first requests
	At    int     // the one request, from 1
	Share float64 // of all requests, drawn for each
}

// status is that of a fault which is one, else 0.
func (f *Fault) status() int {
	if n, err := strconv.Atoi(f.Kind); err == nil && n >= 400 && n <= 599 {
		return n
	}
	return 0
}

// ParseFaults reads faults: each is [WHEN:]KIND[:OPTION=VALUE], where WHEN is every=N, first=N, at=N or share=P.
func ParseFaults(texts ...string) (all []Fault, err error) {
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func parseFault(text string) (f Fault, err error) {
	if when, rest, _ := strings.Cut(text, ":"); strings.Contains(when, "=") {
		if err := f.parseWhen(when); err != nil {
			return f, err
		}
		text = rest
	}
	parts := strings.Split(text, ":")
	f.Kind = parts[0]
	if err := f.checkKind(); err != nil {
		return f, err
	}
	for _, option := range parts[1:] {
		if err := f.parseOption(option); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *Fault) parseWhen(when string) (err error) {
	name, value, _ := strings.Cut(when, "=")
	counts := map[string]*int{"every": &f.Every, "first": &f.First, "at": &f.At}
	switch count := counts[name]; {
	case count != nil:
		if *count, err = strconv.Atoi(value); err != nil || *count < 1 {
			return fmt.Errorf("%s: want a number of at least 1", when)
		}
	case name == "share":
		if f.Share, err = strconv.ParseFloat(value, 64); err != nil || !(f.Share > 0 && f.Share <= 1) {
			return fmt.Errorf("%s: want a share above 0, at most 1", when)
		}
	default:
		return fmt.Errorf("%s: want every=N, first=N, at=N or share=P", when)
	}
	return nil
}

func (f *Fault) checkKind() error {
	if f.status() != 0 {
		return nil
	}
	var names []string
	for _, kind := range Kinds {
		names = append(names, kind.Name)
	}
	if slices.Contains(names, f.Kind) {
		if f.Kind == slow {
			f.By = 5 * time.Second
		}
		return nil
	}
	if closest := source.Closest(f.Kind, names); closest != "" {
		return fmt.Errorf("unknown fault %q: did you mean %s?", f.Kind, closest)
	}
	return fmt.Errorf("unknown fault %q", f.Kind)
}

func (f *Fault) parseOption(option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case name == "retry-after" && f.status() != 0:
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return fmt.Errorf("retry-after is a number of seconds, not %q", value)
		}
		f.RetryAfter = value
	case name == "by" && f.Kind == slow:
		if f.By, err = time.ParseDuration(value); err != nil || f.By < 0 {
			return fmt.Errorf("by is a duration such as 500ms, not %q", value)
		}
	default:
		return fmt.Errorf("the fault %s has no option %q", f.Kind, name)
	}
	return nil
}

// due reports whether the n-th request, from 1, shows the fault. Drawn is a number from 0 to 1.
func (f *Fault) due(n int64, drawn float64) bool {
	switch {
	case f.Every > 0:
		return n%int64(f.Every) == 0
	case f.First > 0:
		return n <= int64(f.First)
	case f.At > 0:
		return n == int64(f.At)
	case f.Share > 0:
		return drawn < f.Share
	}
	return true
}

// change makes another reply of it, where that is the fault.
func (f *Fault) change(reply *model.Reply) {
	if f.Kind == refusal || f.Kind == empty {
		reply.Text, reply.Thinking, reply.ToolCalls, reply.Finish = "", "", nil, "stop"
	}
	if f.Kind == refusal {
		reply.Finish = "content_filter"
	}
}

// damage makes the JSON of an answer wrong, where that is the fault.
func (f *Fault) damage(p *protocol, frames [][]byte) {
	switch f.Kind {
	case halfJSON:
		middle := &frames[len(frames)/2]
		*middle = append((*middle)[:len(*middle)/2], "\n\n"...)
	case wrongType:
		list := fmt.Sprintf("%q:[", p.list)
		for i := range frames {
			frames[i] = bytes.Replace(frames[i], []byte(list), fmt.Appendf(nil, `%q:7,"was":[`, p.list), 1)
		}
	}
}

// half is what a connection that breaks in the middle has carried.
func half(frames [][]byte) [][]byte {
	if len(frames) == 1 {
		return [][]byte{frames[0][:len(frames[0])/2]}
	}
	return frames[:len(frames)/2]
}
