package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// background bounds nothing: mappings have a deadline of their own.
var background = context.Background()

// scope is what the expressions of a mapping see.
type scope struct {
	row
	entry any
	i     int
	after []any
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

// wrong says which expression gave what nobody wanted.
func wrong(e *spec.Expr, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if e.Node == nil || e.Node.File == nil {
		return errors.New(what)
	}
	return fmt.Errorf("%s (by the expression at %s:%d:%d)", what, e.Node.File.Name, e.Node.Pos.Line, e.Node.Pos.Col)
}

// value evaluates an expression; nil gives nil.
func value(e *spec.Expr, s *scope) (any, error) {
	if e == nil {
		return nil, nil
	}
	v, err := e.Value(background, s)
	if err != nil {
		return nil, wrong(e, "%v", err)
	}
	return v, nil
}

func list(e *spec.Expr, s *scope) ([]any, error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok {
		return nil, wrong(e, "want a list, got %s", describe(v))
	}
	return items, nil
}

// truth is false for null and where there is no expression.
func truth(e *spec.Expr, s *scope) (is, known bool, err error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return false, false, err
	}
	is, ok := v.(bool)
	if !ok {
		return false, false, wrong(e, "want true or false, got %s", describe(v))
	}
	return is, true, nil
}

// text is "" for null and where there is no expression.
func text(e *spec.Expr, s *scope) (string, error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return "", err
	}
	t, ok := v.(string)
	if !ok {
		return "", wrong(e, "want text, got %s", describe(v))
	}
	return t, nil
}

// number takes numbers, and digits: what .csv files hold. Null is not known.
func number(e *spec.Expr, s *scope) (n float64, known bool, err error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return 0, false, err
	}
	n, ok := asNumber(v)
	if !ok {
		return 0, false, wrong(e, "want a number, got %s", describe(v))
	}
	return n, true, nil
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

// whole wants a whole number that is not negative.
func whole(e *spec.Expr, s *scope) (n int64, known bool, err error) {
	x, known, err := number(e, s)
	if err != nil || !known {
		return 0, known, err
	}
	if x != math.Trunc(x) || x < 0 || x > largest {
		return 0, false, wrong(e, "want a whole number from 0, got %v", x)
	}
	return int64(x), true, nil
}

// span is a time: seconds, or a duration.
func span(e *spec.Expr, s *scope) (d time.Duration, known bool, err error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return 0, false, err
	}
	d, ok := v.(time.Duration)
	if !ok {
		seconds, isNumber := asNumber(v)
		if !isNumber || math.Abs(seconds) > float64(math.MaxInt64/time.Second) {
			return 0, false, wrong(e, "want seconds or a duration, got %s", describe(v))
		}
		d = time.Duration(math.Round(seconds * float64(time.Second)))
	}
	if d < 0 {
		return 0, false, wrong(e, "want a time that is not negative, got %v", d)
	}
	return d, true, nil
}

// name is text that is not empty, or a whole number.
func name(e *spec.Expr, s *scope) (string, error) {
	v, err := value(e, s)
	if err != nil {
		return "", err
	}
	switch n := v.(type) {
	case string:
		if n != "" {
			return n, nil
		}
	case int64:
		return strconv.FormatInt(n, 10), nil
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < largest {
			return strconv.FormatInt(int64(n), 10), nil
		}
	}
	return "", wrong(e, "want text that is not empty, or a whole number, got %s", describe(v))
}

// encoded is a value as JSON, nil for null and where there is no expression.
func encoded(e *spec.Expr, s *scope) (json.RawMessage, error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return nil, err
	}
	return encode(v)
}

func encode(v any) (json.RawMessage, error) { return expr.AppendJSON(nil, v) }

// describe tells a value in a message.
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
func object(named source.Named[spec.Expr], s *scope) (any, error) {
	if len(named) == 0 {
		return nil, nil
	}
	o := expr.NewObject(len(named))
	for i := range named {
		v, err := value(&named[i].Value, s)
		if err != nil {
			return nil, err
		}
		o.Set(named[i].Key, v)
	}
	return o, nil
}
