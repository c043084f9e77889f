package expr

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// maxRenderedBytes is how long a rendered template may be.
const maxRenderedBytes = 1 << 20

// Template is a text with expressions in {{ }}. It is safe for concurrent use.
type Template struct {
	parts []part
	reads []string
}

// part is a piece of text, or a program and its place in the template.
type part struct {
	text    string
	program *Program
	offset  int
}

type compiledTemplate struct {
	template *Template
	faults   []Fault
}

// Template compiles a text with expressions: "Attempt {{ iteration + 1 }}". {{{{ stands for {{. Texts, numbers, truth
// values and durations are printed plainly (1.0 as 1, ninety seconds as 90s), null as nothing, objects and dynamic
// lists as JSON; an expression that is known to be a list or a record is a fault. The template is nil exactly if one
// of the faults is not a warning.
func (e *Env) Template(src string) (*Template, []Fault) {
	if known, ok := e.templates.Load(src); ok {
		c := known.(*compiledTemplate)
		return c.template, c.faults
	}
	template, faults := e.template(src)
	e.templates.Store(src, &compiledTemplate{template, faults})
	return template, faults
}

func (e *Env) template(src string) (*Template, []Fault) {
	if !utf8.ValidString(src) {
		return nil, []Fault{{What: "the text is not valid UTF-8"}}
	}
	pieces, faults := e.split(src)
	t := &Template{}
	for _, piece := range pieces {
		if !piece.isExpression {
			t.parts = append(t.parts, part{text: piece.text})
			continue
		}
		program, found := e.compile(piece.text, printable)
		for _, f := range found {
			f.Offset += piece.offset
			faults = append(faults, f)
		}
		if program != nil {
			t.parts = append(t.parts, part{program: program, offset: piece.offset})
			t.reads = append(t.reads, program.reads...)
		}
	}
	if anyError(faults) {
		return nil, faults
	}
	slices.Sort(t.reads)
	t.reads = slices.Compact(t.reads)
	return t, faults
}

// printable refuses what has no obvious text.
func printable(p *Program) []Fault {
	switch t := p.tree.GetType(p.tree.Expr().ID()); t.Kind() {
	case types.ListKind:
		return []Fault{{What: "a list cannot be printed", Hint: `make it a text, for instance with .map(x, ...).join("\n"), or json(...)`}}
	case types.StructKind:
		return []Fault{{What: fmt.Sprintf("a record (%s) cannot be printed", t.TypeName()), Hint: "print one of its fields"}}
	case types.OpaqueKind, types.TypeKind, types.BytesKind:
		return []Fault{{What: "this cannot be printed: it is " + showType(t), Hint: "for an optional value, say .orValue(...)"}}
	}
	return nil
}

// Reads are the variables and paths that the expressions of the template read, as [Program.Reads] gives them.
func (t *Template) Reads() []string { return t.reads }

// Render evaluates the expressions and puts the text together.
func (t *Template) Render(ctx context.Context, scope Scope) (string, error) {
	if len(t.parts) == 1 && t.parts[0].program == nil {
		return t.parts[0].text, nil
	}
	out := make([]byte, 0, 256)
	for i := range t.parts {
		var err error
		if out, err = t.parts[i].append(ctx, scope, out); err != nil {
			return "", err
		}
		if len(out) > maxRenderedBytes {
			return "", &Error{Kind: TooLarge, What: "the text grows beyond 1 MiB", Offset: t.parts[i].offset}
		}
	}
	return string(out), nil
}

func (p *part) append(ctx context.Context, scope Scope, out []byte) ([]byte, error) {
	if p.program == nil {
		return append(out, p.text...), nil
	}
	value, err := p.program.eval(ctx, scope)
	if err == nil {
		out, err = p.program.print(out, value)
	}
	if failed, ok := err.(*Error); ok {
		moved := *failed
		moved.Offset += p.offset
		return nil, &moved
	}
	return out, err
}

// print appends a value as a reader of the text expects it.
func (p *Program) print(out []byte, value ref.Val) ([]byte, error) {
	switch v := value.(type) {
	case types.String:
		return append(out, v...), nil
	case types.Double:
		return appendDouble(out, float64(v)), nil
	case types.Int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case types.Bool:
		return strconv.AppendBool(out, bool(v)), nil
	case types.Null:
		return out, nil
	case types.Duration:
		return append(out, durationText(v.Duration)...), nil
	}
	plain, err := p.plain(value)
	if err != nil {
		return nil, err
	}
	switch v := plain.(type) {
	case string: // a time or a type
		return append(out, v...), nil
	case time.Duration:
		return append(out, durationText(v)...), nil
	}
	if out, err = AppendJSON(out, plain); err != nil {
		return nil, &Error{What: err.Error(), Offset: p.offset(0), Err: err}
	}
	return out, nil
}

func appendDouble(out []byte, n float64) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return strconv.AppendFloat(out, n, 'g', -1, 64)
	}
	return jsontext.AppendFloat(out, n, 64)
}

// piece is a run of text or the inside of one {{ }}.
type piece struct {
	text         string
	isExpression bool
	offset       int // of the text in the template, in characters
}

// split cuts a template into texts and expressions. What cannot be cut is a fault at its {{.
func (e *Env) split(src string) (pieces []piece, faults []Fault) {
	var text strings.Builder
	for pos := 0; pos < len(src); {
		open := strings.Index(src[pos:], "{{")
		if open < 0 {
			text.WriteString(src[pos:])
			break
		}
		text.WriteString(src[pos : pos+open])
		pos += open
		if strings.HasPrefix(src[pos:], "{{{{") {
			text.WriteString("{{")
			pos += 4
			continue
		}
		at := utf8.RuneCountInString(src[:pos])
		length := e.expressionEnd(src[pos+2:])
		if length < 0 {
			return nil, append(faults, Fault{Offset: at, Len: 2, What: "{{ without }}", Hint: "close it with }}; two braces in the text are written {{{{"})
		}
		inside := src[pos+2 : pos+2+length]
		if strings.TrimSpace(inside) == "" {
			faults = append(faults, Fault{Offset: at, Len: 4, What: "the expression between {{ and }} is empty"})
		}
		pieces = append(pieces, textPiece(&text)...)
		pieces = append(pieces, piece{text: inside, isExpression: true, offset: at + 2})
		pos += length + 4
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return append(pieces, textPiece(&text)...), nil
}

func textPiece(text *strings.Builder) []piece {
	if text.Len() == 0 {
		return nil
	}
	defer text.Reset()
	return []piece{{text: text.String()}}
}

// expressionEnd finds the }} that ends an expression: the first one before which all can be parsed, because }} may also stand
// in its texts and maps, else the first of all. -1 if there is none.
func (e *Env) expressionEnd(s string) int {
	const most = 16 // are tried
	first := strings.Index(s, "}}")
	end := first
	for range most {
		if end < 0 || end > maxExpression*utf8.UTFMax {
			break
		}
		if _, issues := e.cel.Parse(s[:end]); issues.Err() == nil {
			return end
		}
		next := strings.Index(s[end+1:], "}}")
		if next < 0 {
			break
		}
		end += 1 + next
	}
	return first
}
