package scorers

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlc-dev/meyer/parser"
	"golang.org/x/net/html"

	"github.com/agentbench/agentbench/spec/expr"
)

// isHTML holds where the text is HTML whose elements are closed, each within its parent. Where HTML lets
// end tags out (p, li, td and the like) they may be left out; elements that hold nothing (br, img) need none. There has
// to be an element. Which element may stand where, and what attributes mean, is not looked at: browsers take all of it.
func isHTML(*compiler) comparison { return valid(closed) }

// valid holds where a text has no fault.
func valid(fault func(text string) error) comparison {
	return func(_ context.Context, s *subject) verdict {
		written := text(s.value)
		if err := searchable(written); err != nil {
			return unscored("%v", err)
		}
		if err := fault(written); err != nil {
			return verdict{explanation: short(err.Error(), maxAnswer)}
		}
		return verdict{value: 1}
	}
}

var (
	// voidElements hold nothing and have no end tag.
	voidElements = strings.Fields("area base br col embed hr img input link meta param source track wbr")
	// openElements are those whose end tag may be left out.
	openElements = strings.Fields("html head body p li dt dd option optgroup tr td th thead tbody tfoot caption colgroup rb rt rtc rp")
	// foreignElements are those within which a slash closes an element, as in XML.
	foreignElements = []string{"svg", "math"}
)

func closed(text string) error {
	z := html.NewTokenizer(strings.NewReader(text))
	var open htmlOpen
	for {
		kind := z.Next()
		raw := string(z.Raw())
		switch token := z.Token(); kind {
		case html.ErrorToken:
			if strings.HasPrefix(raw, "<") {
				return errors.New("it ends within a tag")
			}
			return open.end()
		case html.StartTagToken:
			open.start(token.Data)
		case html.SelfClosingTagToken:
			if open.within == 0 && !slices.Contains(foreignElements, token.Data) { // a slash closes no element of HTML
				open.start(token.Data)
			}
			open.any = true
		case html.EndTagToken:
			if err := open.close(token.Data); err != nil {
				return err
			}
		}
	}
}

// htmlOpen are the elements that are open, the innermost last.
type htmlOpen struct {
	elements []string
	within   int  // how many of them are foreign
	any      bool // there was an element
}

func (o *htmlOpen) start(name string) {
	o.any = true
	if slices.Contains(voidElements, name) {
		return
	}
	o.elements = append(o.elements, name)
	if slices.Contains(foreignElements, name) {
		o.within++
	}
}

func (o *htmlOpen) close(name string) error {
	for i, inner := range slices.Backward(o.elements) {
		switch {
		case inner == name:
			o.elements = o.elements[:i]
			if slices.Contains(foreignElements, name) {
				o.within--
			}
			return nil
		case !slices.Contains(openElements, inner):
			return fmt.Errorf("<%s> is not closed before </%s>", inner, name)
		}
	}
	return fmt.Errorf("</%s> closes nothing that is open", name)
}

func (o *htmlOpen) end() error {
	for _, name := range slices.Backward(o.elements) {
		if !slices.Contains(openElements, name) {
			return fmt.Errorf("<%s> is not closed", name)
		}
	}
	if !o.any {
		return errors.New("it has no element")
	}
	return nil
}

// isJSON holds where the text is one JSON value and nothing else: a fence of Markdown is not JSON. A value
// that is not a text came as JSON.
func isJSON(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		if _, v := parsed(s.value); v != nil {
			return *v
		}
		return verdict{value: 1}
	}
}

// parsed is the JSON that a text is, and any other value itself; or the verdict on a text that is not JSON.
func parsed(value any) (any, *verdict) {
	written, ok := value.(string)
	if !ok {
		return value, nil
	}
	if err := searchable(written); err != nil {
		return nil, &verdict{unscored: err.Error()}
	}
	held, err := expr.ParseJSON([]byte(written))
	if err != nil {
		return nil, &verdict{explanation: short("invalid JSON: "+err.Error(), maxAnswer)}
	}
	return held, nil
}

// maxSQL is how many bytes of a statement are read; what is longer is unscored.
const maxSQL = 64 << 10

// isSQL holds where the text is one or several statements of SQL by SQLite's grammar. It does not know which tables and
// functions there are.
//
// The parser never runs a statement and agrees with modernc.org/sqlite 1.60 on all 6,901 statements of a recorded SQL
// benchmark. It adds 0.4 MB to the binary and nothing to its start; modernc's would add 4 MB, TiDB's parser 13 MB and 1 ms.
func isSQL(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		written := text(s.value)
		if len(written) > maxSQL {
			return unscored("the value has %d bytes; at most %d are read as SQL", len(written), maxSQL)
		}
		statements, err := parser.ParseString(written)
		switch {
		case err != nil: // line:column: message
			return verdict{explanation: short("invalid SQL: "+err.Error(), maxAnswer)}
		case len(statements) == 0:
			return verdict{explanation: "it has no statement"}
		}
		return verdict{value: 1}
	}
}

// isXML holds where the text is a well-formed XML document: one element with all that is in it, and around it at most
// a declaration, a document type, comments and processing instructions. Entities that a document type defines are not
// known, so that nothing can grow.
func isXML(*compiler) comparison {
	return valid(func(written string) error {
		if err := wellFormed(strings.TrimSpace(written)); err != nil {
			return fmt.Errorf("invalid XML: %w", err)
		}
		return nil
	})
}

// wellFormed also finds what the decoder lets pass.
func wellFormed(document string) error {
	decoder := xml.NewDecoder(strings.NewReader(document))
	decoder.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil } // it is decoded already
	depth, root := 0, false
	for {
		at := decoder.InputOffset()
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && root:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it has no element")
		case err != nil:
			return err
		}
		fault := ""
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 && root {
				fault = fmt.Sprintf("<%s> is a second element at the top", t.Name.Local)
			}
			depth, root = depth+1, true
			seen := map[xml.Name]bool{}
			for _, a := range t.Attr {
				if fault == "" && seen[a.Name] {
					fault = fmt.Sprintf("the attribute %s occurs twice", a.Name.Local)
				}
				seen[a.Name] = true
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(t)) != "" {
				fault = "text outside the element"
			}
		case xml.Directive:
			if root {
				fault = "the document type has to come before the element"
			}
		case xml.ProcInst:
			if t.Target == "xml" && at > 0 {
				fault = "the declaration has to come first"
			}
		}
		if fault != "" {
			line, _ := decoder.InputPos()
			return fmt.Errorf("line %d: %s", line, fault)
		}
	}
}

// jsonEqual compares JSON values: the order of keys does not matter, and numbers are compared as numbers. A text that
// holds JSON is the value that it holds, on both sides.
func jsonEqual(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		got, err := jsonOf(s.value)
		if err != nil {
			return unscored("%v", err)
		}
		want, err := jsonOf(s.target)
		if err != nil {
			return unscored("target: %v", err)
		}
		return hit(expr.Equal(got, want), text(want), text(got))
	}
}

// jsonOf is the JSON value that a text holds; any other value, and any other text, is itself.
func jsonOf(value any) (any, error) {
	s, ok := value.(string)
	if !ok {
		return value, nil
	}
	if err := searchable(s); err != nil {
		return nil, err
	}
	if parsed, err := expr.ParseJSON([]byte(s)); err == nil {
		return parsed, nil
	}
	return value, nil
}

// jsonPath looks into the JSON that the value is. An expression that is true or false is the verdict; what any other
// gives is compared with the target, as json_equal does. Where an expression fails that looks into nothing but the JSON,
// for want of a key, the JSON is not right.
func jsonPath(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type json_path needs expr")
		return nil
	}
	program := c.compiled(c.spec.Expr, expr.JSONPath(expr.Any), expr.WantAny)
	if program == nil {
		return nil
	}
	says, whyNot := program.IsBool(), quoted(c.spec.Expr.Text)+" is false"
	c.made.needsTarget = !says
	alone := !slices.ContainsFunc(program.Reads(), func(path string) bool { return path != "json" && !strings.HasPrefix(path, "json.") })
	return func(ctx context.Context, s *subject) verdict {
		held, no := parsed(s.value)
		if no != nil {
			return *no
		}
		found, err := program.Value(ctx, &jsonScope{s, held})
		switch {
		case err != nil && !(alone && isOfValues(err)):
			return unscored("%v", err)
		case err != nil:
			return verdict{explanation: short(err.Error(), maxAnswer)}
		case says:
			return holding(found == true, whyNot)
		}
		want, err := jsonOf(s.target)
		if err != nil {
			return unscored("target: %v", err)
		}
		v := hit(expr.Equal(found, want) || expr.Equal(found, s.target), text(want), text(found))
		v.answer = short(text(found), maxAnswer)
		return v
	}
}

// isOfValues reports whether an expression failed on the values, and not by a limit.
func isOfValues(err error) bool {
	failed, ok := errors.AsType[*expr.Error](err)
	return ok && failed.Kind == expr.Evaluation
}

// jsonScope is what an expression sees that looks into JSON.
type jsonScope struct {
	*subject
	json any
}

func (s *jsonScope) Lookup(name string) (any, bool) {
	if name == "json" {
		return s.json, true
	}
	return s.subject.Lookup(name)
}

// jsonSchema validates the value, or the JSON that it holds as a text, against a schema (draft 2020-12 unless it names
// another). A text that is not JSON is worth 0.
func jsonSchema(c *compiler) comparison {
	schema, err := expr.CompileSchema(c.spec.Schema)
	if err != nil {
		key := "schema"
		if c.spec.SchemaFile != "" {
			key = "schema_file"
		}
		c.fault(key, "the schema is wrong: %s", short(err.Error(), maxAnswer))
	}
	return func(_ context.Context, s *subject) verdict {
		value, no := parsed(s.value)
		if no != nil {
			return *no
		}
		wrong, err := schema.Violations(value)
		if err != nil {
			return unscored("%v", err)
		}
		if len(wrong) > 0 {
			return verdict{explanation: short(expr.FirstViolation(wrong), maxAnswer)}
		}
		return verdict{value: 1}
	}
}
