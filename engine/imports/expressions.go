package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// scope is what the expressions of a mapping see.
type scope struct {
	row
	entry any
	i     int
	after []any
	// err is the first error of an expression. After it, expressions give nothing.
	err error
}

// Lookup implements expr.Scope.
func (s *scope) Lookup(name string) (any, bool) {
	switch name {
	case "row":
		return s.value, true
	case "it":
		return s.entry, true
	case "i":
		return int64(s.i), true
	case "after":
		return s.after, true
	case "doc":
		return s.doc, true
	case "file":
		return s.file, true
	case "line":
		return int64(s.line), true
	}
	return nil, false
}

// fail keeps the first error, with the place of the expression that gave a wrong value.
func (s *scope) fail(e *spec.Expr, format string, args ...any) {
	if s.err != nil {
		return
	}
	s.err = fmt.Errorf(format, args...)
	if e.Node != nil && e.Node.File != nil {
		s.err = fmt.Errorf("%w (by the expression at %s:%d:%d)", s.err, e.Node.File.Name, e.Node.Pos.Line, e.Node.Pos.Col)
	}
}

// value evaluates an expression; nil gives nil.
func value(e *spec.Expr, s *scope) any {
	if e == nil || s.err != nil {
		return nil
	}
	v, err := e.Value(context.Background(), s) // mappings have a deadline of their own
	if err != nil {
		s.fail(e, "%v", err)
		return nil
	}
	return v
}

// typed evaluates an expression that gives a value of one type. Null, and nil for an expression, is not known.
func typed[T any](e *spec.Expr, s *scope, want string) (v T, known bool) {
	given := value(e, s)
	if given == nil {
		return v, false
	}
	if v, known = given.(T); !known {
		s.fail(e, "want %s, got %s", want, describe(given))
	}
	return v, known
}

func list(e *spec.Expr, s *scope) []any {
	items, _ := typed[[]any](e, s, "a list")
	return items
}

func text(e *spec.Expr, s *scope) string {
	t, _ := typed[string](e, s, "text")
	return t
}

func truth(e *spec.Expr, s *scope) (is, known bool) { return typed[bool](e, s, "true or false") }

// number takes numbers, and digits: what .csv files hold. Null is not known.
func number(e *spec.Expr, s *scope) (n float64, known bool) {
	v := value(e, s)
	if v == nil {
		return 0, false
	}
	if n, known = asNumber(v); !known {
		s.fail(e, "want a number, got %s", describe(v))
	}
	return n, known
}

func asNumber(v any) (float64, bool) {
	var n float64
	switch x := v.(type) {
	case float64:
		n = x
	case int64:
		n = float64(x)
	case string:
		parsed, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return 0, false
		}
		n = parsed
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

// largest is the largest whole number of which a float64 knows every one before.
const largest = 1 << 53

// whole is a whole number that is not negative.
func whole(e *spec.Expr, s *scope) (n int64, known bool) {
	x, known := number(e, s)
	if known && (x != math.Trunc(x) || x < 0 || x > largest) {
		s.fail(e, "want a whole number from 0, got %v", x)
		return 0, false
	}
	return int64(x), known
}

// span is a time: seconds, or a duration.
func span(e *spec.Expr, s *scope) (d time.Duration, known bool) {
	v := value(e, s)
	if v == nil {
		return 0, false
	}
	d, ok := v.(time.Duration)
	if !ok {
		seconds, isNumber := asNumber(v)
		if !isNumber || math.Abs(seconds) > float64(math.MaxInt64/time.Second) {
			s.fail(e, "want seconds or a duration, got %s", describe(v))
			return 0, false
		}
		d = time.Duration(math.Round(seconds * float64(time.Second)))
	}
	if d < 0 {
		s.fail(e, "want a time that is not negative, got %v", d)
		return 0, false
	}
	return d, true
}

// name is text that is not empty, or a whole number.
func name(e *spec.Expr, s *scope) string {
	v := value(e, s)
	switch n := v.(type) {
	case string:
		if n != "" {
			return n
		}
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < largest {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	s.fail(e, "want text that is not empty, or a whole number, got %s", describe(v))
	return ""
}

// encoded is a value as JSON, nil for null.
func encoded(v any, s *scope) json.RawMessage {
	if v == nil {
		return nil
	}
	text, err := expr.AppendJSON(nil, v)
	s.err = cmp.Or(s.err, err)
	return text
}

// extra is an object as JSON, nil for null.
func extra(e *spec.Expr, s *scope) json.RawMessage {
	object, known := typed[*expr.Object](e, s, "an object")
	if !known {
		return nil
	}
	return encoded(object, s)
}

// zoneless are forms of times that name no zone: they are UTC.
var zoneless = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// moment is a point in time: text, or seconds since 1970. Zero is unknown.
func moment(e *spec.Expr, s *scope) (at time.Time) {
	switch v := value(e, s).(type) {
	case nil:
	case float64:
		at = time.Unix(0, int64(v*1e9))
	case string:
		if v == "" {
			return at
		}
		var err error
		at, err = time.Parse(time.RFC3339Nano, v)
		for _, form := range zoneless {
			if err != nil {
				at, err = time.Parse(form, v)
			}
		}
		if err != nil {
			s.fail(e, "want a time such as 2026-01-31T12:00:00Z, got %s", describe(v))
		}
	default:
		s.fail(e, "want a time such as 2026-01-31T12:00:00Z, got %s", describe(v))
	}
	return at.UTC()
}

func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case *expr.Object:
		return "an object"
	case []any:
		return "a list"
	case string:
		const most = 40
		if runes := []rune(x); len(runes) > most {
			x = string(runes[:most]) + "…"
		}
		return strconv.Quote(x)
	}
	return fmt.Sprint(v)
}

// object evaluates named expressions; none give nil.
func object(named source.Named[spec.Expr], s *scope) any {
	if len(named) == 0 {
		return nil
	}
	o := expr.NewObject(len(named))
	for i := range named {
		o.Set(named[i].Key, value(&named[i].Value, s))
	}
	return o
}
