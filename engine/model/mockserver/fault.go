package mockserver

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// noFault is the kind that is no fault.
const noFault = "ok"

// Fault is a kind of fault with its options.
type Fault struct {
	Kind       string
	RetryAfter string // "": none; a number is sent in its form, anything else as it is
	Form       Form
	Reset      string // of x-ratelimit-reset-requests
	Should     string // x-should-retry
	Body       string // of an error: api (default), html, empty
	Size       int64  // bytes of what is huge
	By         time.Duration

	status int
	kind   *kind
}

// ParseFault reads a fault: KIND or KIND:option=value:option=value.
func ParseFault(text string) (Fault, error) {
	name, rest, _ := strings.Cut(text, ":")
	fault, err := named(strings.TrimSpace(name))
	if err != nil {
		return Fault{}, err
	}
	for rest != "" {
		var option string
		option, rest, _ = strings.Cut(rest, ":")
		key, value, _ := strings.Cut(option, "=")
		if !slices.Contains(fault.kind.options, key) {
			return Fault{}, fmt.Errorf("the fault %s has no option %q%s", fault.Kind, key, listed(fault.kind.options))
		}
		if err := fault.set(key, value); err != nil {
			return Fault{}, fmt.Errorf("the fault %s: %w", fault.Kind, err)
		}
	}
	return fault, nil
}

// named is the fault of a kind without options. Any status is a kind.
func named(name string) (Fault, error) {
	fault := Fault{Kind: name, Size: 64 << 20}
	if n, err := strconv.Atoi(name); err == nil && n >= 400 && n <= 599 {
		fault.status, fault.kind = n, &statusKind
		return fault, nil
	}
	for i := range kinds {
		if kinds[i].Name == name {
			fault.kind, fault.By = &kinds[i].kind, kinds[i].by
			return fault, nil
		}
	}
	var names []string
	for _, known := range Kinds() {
		names = append(names, known.Name)
	}
	if closest := source.Closest(name, names); closest != "" {
		return Fault{}, fmt.Errorf("there is no fault %q: did you mean %s?", name, closest)
	}
	return Fault{}, fmt.Errorf("there is no fault %q", name)
}

func listed(options []string) string {
	if len(options) == 0 {
		return ": it has none"
	}
	return ", only " + strings.Join(options, ", ")
}

var optionBodies = []string{"api", "html", "empty"}

func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "retry-after":
		f.RetryAfter = value
	case "form":
		f.Form, err = ParseForm(value)
	case "reset":
		f.Reset = value
	case "should-retry":
		f.Should = value
	case "body":
		if f.Body = value; !slices.Contains(optionBodies, value) {
			err = fmt.Errorf("body is one of %s, not %q", strings.Join(optionBodies, ", "), value)
		}
	case "size":
		f.Size, err = parseSize(value)
	case "by":
		if f.By, err = time.ParseDuration(value); err != nil || f.By < 0 {
			err = fmt.Errorf("by is a duration such as 500ms, not %q", value)
		}
	}
	return err
}

// ParseForm reads a form of Retry-After.
func ParseForm(text string) (Form, error) {
	forms := []Form{Seconds, Millis, Date, Silent}
	if form := Form(text); slices.Contains(forms, form) {
		return form, nil
	}
	return "", fmt.Errorf("a form of Retry-After is one of seconds, ms, date, none, not %q", text)
}

var units = map[string]int64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}

func parseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMG")
	unit, known := units[text[len(number):]]
	if text == number {
		unit, known = 1, true
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || !known || n < 0 {
		return 0, fmt.Errorf("a size is a number with %s, not %q", strings.Join(slices.Sorted(maps.Keys(units)), ", "), text)
	}
	return n * unit, nil
}

// tellRetry writes what a refusal says of trying again.
func (f *Fault) tellRetry(header http.Header, now time.Time) {
	if seconds, err := strconv.ParseFloat(f.RetryAfter, 64); err == nil && f.Form != "" {
		f.Form.set(header, time.Duration(seconds*float64(time.Second)), now)
	} else if f.RetryAfter != "" {
		header.Set("Retry-After", f.RetryAfter)
	}
	if f.Reset != "" {
		header.Set("X-Ratelimit-Reset-Requests", f.Reset)
	}
	if f.Should != "" {
		header.Set("X-Should-Retry", f.Should)
	}
}
