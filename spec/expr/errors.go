package expr

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// ErrorKind tells why an evaluation failed.
type ErrorKind int

// The zero kind is an error in what the expression says about the values at hand.
const (
	Evaluation ErrorKind = iota
	DeadlineExceeded
	Cancelled // by the caller's context
	TooLarge  // the result, or a text or list on the way to it
)

// Error is a failed evaluation.
type Error struct {
	Kind   ErrorKind
	What   string
	Offset int // where in the source, in characters
	Err    error
}

func (e *Error) Error() string { return e.What }

// Unwrap gives the cause, if there is one worth telling.
func (e *Error) Unwrap() error { return e.Err }

// failure explains an error of cel-go.
func (p *Program) failure(err error) error {
	var in *types.Err
	if errors.As(err, &in) {
		failed := &Error{What: runTimeMessage(in.Error()), Offset: p.offset(in.NodeID())}
		if errors.Is(in, errTextGrows) || errors.Is(in, errTooLong) {
			failed.Kind = TooLarge
		}
		return failed
	}
	return &Error{What: err.Error(), Offset: p.offset(0)}
}

// offset is the place of a node in the source; of the whole expression for 0.
func (p *Program) offset(node int64) int {
	if r, ok := p.tree.SourceInfo().GetOffsetRange(node); ok && r.Start >= 0 {
		return int(r.Start)
	}
	return 0
}

// runTimeMessage says in our words what cel-go says about a value.
func runTimeMessage(message string) string {
	if key, ok := strings.CutPrefix(message, "no such key: "); ok {
		return fmt.Sprintf("key %q not found", key)
	}
	if index, ok := strings.CutPrefix(message, "index out of bounds: "); ok {
		return fmt.Sprintf("the list has no element %s", index)
	}
	if name, ok := strings.CutPrefix(message, "no such attribute(s): "); ok {
		return fmt.Sprintf("%s has no value here", name)
	}
	if function, ok := strings.CutPrefix(message, "no such overload"); ok {
		named := cmp.Or(operator(strings.TrimPrefix(function, ": ")), "the operation")
		return named + " does not take values of these types (is one of them null?)"
	}
	return message
}

func typeName(value ref.Val) string {
	switch name := value.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "google.protobuf.Duration":
		return "a duration"
	default:
		return "of type " + name
	}
}

// Fault is something wrong with a text, or (Warning) something that will likely go wrong when it is evaluated.
type Fault struct {
	Offset  int // in characters of the source
	Len     int // how many characters are meant; 0 if only the place is known
	What    string
	Hint    string // what to do about it; may be empty
	Warning bool
}

func anyError(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return !f.Warning })
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '(.*?)' \(in container '.*'\)$`)
	undefined  = regexp.MustCompile(`^undefined field '(.*)'$`)
	overload   = regexp.MustCompile(`^found no matching overload for '(.*)' applied to '(.*)'$`)
	noFields   = regexp.MustCompile(`^type '(.*)' does not support field selection$`)
	wrapper    = regexp.MustCompile(`wrapper\((\w+)\)`)
	member     = regexp.MustCompile(`^(.*?)\.\((.*)\)$`)
)

// explain turns cel-go's issues into faults. After a syntax error the others are consequences and left out.
func (e *Env) explain(src string, issues *cel.Issues) []Fault {
	var faults []Fault
	text := []rune(src)
	for _, issue := range issues.Errors() {
		offset := offsetOf(text, issue.Location.Line(), issue.Location.Column())
		if issue.ExprID == 0 && strings.Contains(issue.Message, "yntax error") {
			return append(faults, syntaxFault(issue.Message, text, offset))
		}
		f := e.reword(issue.Message, text, offset)
		f.Offset = offset
		f.mark(text)
		faults = append(faults, f)
	}
	return faults
}

// offsetOf counts characters up to a line (from 1) and column (from 0).
func offsetOf(text []rune, line, column int) int {
	offset := 0
	for ; line > 1 && offset < len(text); offset++ {
		if text[offset] == '\n' {
			line--
		}
	}
	return min(max(0, offset+max(0, column)), len(text))
}

func syntaxFault(message string, text []rune, offset int) Fault {
	message, _, _ = strings.Cut(message, " expecting ")
	message = strings.TrimPrefix(message, "Syntax error: ")
	switch {
	case strings.Contains(message, "'<EOF>'"):
		message = "the expression ends too early"
	case strings.HasPrefix(message, "token recognition error at: '\""), strings.HasPrefix(message, "token recognition error at: ''"):
		message = "a string is not closed"
	case strings.HasPrefix(message, notAToken):
		message = "unexpected " + strings.Replace(strings.TrimPrefix(message, notAToken), " '", "'", 1)
	case strings.Contains(message, " input "):
		_, token, _ := strings.Cut(message, " input ")
		message = "unexpected " + token
	}
	hint := otherOperators[strings.TrimPrefix(message, "unexpected ")]
	source, before := strings.TrimSpace(string(text)), strings.Fields(string(text[:offset]))
	switch {
	case strings.HasPrefix(source, "{{"):
		hint = "leave out {{ and }}: this is CEL already"
	case hint != "":
	case len(before) > 0 && before[len(before)-1] == "not":
		hint = "write ! for not: !(...)"
	case methodBetween.MatchString(message):
		hint = "write it as a call: output." + methodBetween.FindStringSubmatch(message)[1] + "(...)"
	case percent.MatchString(source):
		hint = "write 0.5 for 50%"
	case strings.HasSuffix(message, "ends too early") && strings.Count(source, "(") > strings.Count(source, ")"):
		hint = "close the parenthesis with )"
	case strings.HasSuffix(message, "not closed"):
		hint = "end it with the quote that it starts with"
	}
	return Fault{Offset: offset, What: "syntax error: " + message, Hint: hint}
}

var (
	methodBetween = regexp.MustCompile(`^unexpected '(contains|matches|startsWith|endsWith)'$`)
	percent       = regexp.MustCompile(`[0-9]\s*%\s*($|&&|\|\|)`)
)

const notAToken = "token recognition error at: "

// otherOperators tells who writes what other languages have what CEL has.
var otherOperators = map[string]string{
	"'='": "write == to compare", "'and'": "write && for and", "'&'": "write && for and",
	"'or'": "write || for or", "'|'": "write || for or; what is a filter elsewhere is a function here: f(x)", "'is'": "write == to compare",
	"'=<'": "write <=", "'=>'": "write >=", "'=='": "write one operator between two values", "'if'": "write CONDITION ? A : B",
}

// otherNames are those that other languages have for what CEL has.
var otherNames = map[string]string{
	"len": "size", "length": "size", "count": "size", "True": "true", "False": "false", "None": "null", "nil": "null",
	"str": "string", "float": "double", "lower": "lowerAscii", "upper": "upperAscii", "toLowerCase": "lowerAscii",
	"toUpperCase": "upperAscii", "strip": "trim", "startswith": "startsWith", "endswith": "endsWith", "includes": "contains",
	"question": "task.input", "query": "task.input", "problem": "task.input", "prompt": "task.input", "id": "task.id",
	"answer": "output", "response": "output", "reply": "output", "completion": "output", "result": "output",
	"last_output": "output", "previous_output": "output", "previous": "output", "prev": "output", "expected": "target",
	"reference": "target", "vars": "task.vars", "inputs": "task.vars", "avg": "mean", "average": "mean",
}

// reword says in our words what the checker says, and what to do about it.
func (e *Env) reword(message string, text []rune, offset int) Fault {
	message = wrapper.ReplaceAllString(message, "$1 or null")
	if m := undeclared.FindStringSubmatch(message); m != nil {
		return Fault{What: fmt.Sprintf("unknown name %q", m[1]), Hint: e.names.near(m[1]), Len: len([]rune(m[1]))}
	}
	if m := undefined.FindStringSubmatch(message); m != nil {
		return Fault{What: fmt.Sprintf("unknown field %q", m[1]), Hint: e.nearField(m[1], string(text[:offset])), Len: len([]rune(m[1]))}
	}
	if m := overload.FindStringSubmatch(message); m != nil {
		operands := m[2]
		if method := member.FindStringSubmatch(operands); method != nil {
			operands = strings.TrimSpace(method[1] + " with (" + method[2] + ")")
		}
		return Fault{What: fmt.Sprintf("%s does not take %s", operator(m[1]), operands), Hint: overloadHint(m[1], m[2])}
	}
	if m := noFields.FindStringSubmatch(message); m != nil {
		f := Fault{What: fmt.Sprintf("a value of type %s has no fields", m[1])}
		if name := fieldAt.FindStringSubmatch(string(text[offset:])); name != nil && otherNames[name[1]] == "size" {
			f.Hint = "write size(...)"
		} else if m[1] == "string" {
			f.Hint = "only objects have fields; the output of an agent is one under reply: json"
		}
		return f
	}
	if strings.Contains(message, "recursion") {
		return Fault{What: fmt.Sprintf("the expression is nested deeper than %d levels", maxDepth), Hint: `join a long chain as a list: [a, b].join("")`}
	}
	message, _, _ = strings.Cut(message, " expecting {")
	return Fault{What: message}
}

// mark moves the fault onto the name it speaks of, which the checker places at the dot before it.
func (f *Fault) mark(text []rune) {
	if f.Len == 0 {
		return
	}
	end := min(len(text), f.Offset+f.Len+8)
	name := f.What[strings.Index(f.What, `"`)+1 : len(f.What)-1]
	if at := strings.Index(string(text[f.Offset:end]), name); at >= 0 {
		f.Offset += len([]rune(string(text[f.Offset:end])[:at]))
		return
	}
	f.Len = 0
}

// operator is how a function is written: _+_ as +.
func operator(function string) string {
	if name, ok := operators.FindReverse(function); ok && name != "" {
		return name
	}
	switch function {
	case operators.Conditional:
		return "? :"
	case operators.Index:
		return "[ ]"
	}
	return strings.TrimSuffix(function, "()")
}

func overloadHint(function, signature string) string {
	numeric := strings.Contains(signature, "int") || strings.Contains(signature, "double")
	switch {
	case strings.Contains(signature, "duration") && numeric:
		return `compare a duration with duration("60s")`
	case strings.Contains(signature, "double") && strings.Contains(signature, "int"):
		return "numbers of different types do not mix in arithmetic: write 10.0, or double(...)"
	case function == operators.Add && strings.Contains(signature, "string"):
		return "make it a text first: string(...)"
	case strings.Contains(signature, "string") && strings.Contains(signature, "null"):
		return `a text is never null: compare it with ""`
	case strings.Contains(signature, "string") && numeric:
		return "a text and a number do not compare: remove the quotes, or convert with double(...)"
	case signature == "(bool, int)" || signature == "(bool, double)":
		return "true and false are no numbers: leave the comparison out"
	case severalNumbers.MatchString(signature):
		return nameOne
	}
	return ""
}

var (
	severalNumbers = regexp.MustCompile(`^\((score|spread|total|metrics|difference),|, (score|spread|total|metrics|difference)\)$`)
	nameOne        = "it has several numbers: name one, for example .mean"
	fieldAt        = regexp.MustCompile(`^\.\s*(\w+)`)
)

// arithmeticWarnings finds arithmetic of a dynamic value with an int: numbers of JSON are doubles, and CEL does not
// mix them.
func arithmeticWarnings(tree *ast.AST) []Fault {
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !arithmetic[e.AsCall().FunctionName()] {
			return
		}
		args := e.AsCall().Args()
		for i, arg := range args {
			if len(args) != 2 || !isDynamic(tree.GetType(args[1-i].ID())) || tree.GetType(arg.ID()).Kind() != types.IntKind {
				continue
			}
			// Parameters do not come from JSON: those that are whole numbers are integers.
			if path, _ := (&reader{}).path(args[1-i]); !strings.HasPrefix(path, "param.") {
				faults = append(faults, mixedNumbers(tree, arg))
			}
		}
	}))
	return faults
}

var arithmetic = map[string]bool{operators.Add: true, operators.Subtract: true, operators.Multiply: true,
	operators.Divide: true, operators.Modulo: true}

func mixedNumbers(tree *ast.AST, integer ast.Expr) Fault {
	f := faultAt(tree, integer.ID(), "numbers of JSON are doubles, and arithmetic does not mix them with integers", "wrap it: double(...)")
	f.Warning = true
	if integer.Kind() == ast.LiteralKind {
		digits := fmt.Sprint(integer.AsLiteral().Value())
		f.Hint, f.Len = "write "+digits+".0", len(digits)
	}
	return f
}

func showType(t *types.Type) string {
	name := wrapper.ReplaceAllString(cel.FormatCELType(t), "$1 or null")
	switch t.Kind() {
	case types.DurationKind:
		return "a duration"
	case types.StructKind:
		return "a record (" + name + ")"
	}
	return "of type " + name
}

// suggestions are the names that somebody may have meant.
type suggestions struct {
	vars   []Var
	names  []string          // variables and functions
	fields []string          // of all structs
	paths  map[string]string // of the fields of variables, by the field: task.metadata
}

func newSuggestions(env *cel.Env, vars []Var) suggestions {
	s := suggestions{vars: vars, paths: map[string]string{}}
	for _, v := range vars {
		s.names = append(s.names, v.Name)
		s.fields = append(s.fields, fieldNames(v.Type)...)
		for _, f := range v.Type.fields {
			if s.paths[f.Name] == "" {
				s.paths[f.Name] = v.Name + "." + f.Name
			}
		}
	}
	for name := range env.Functions() {
		if !strings.ContainsAny(name, "_@!-") {
			s.names = append(s.names, name)
		}
	}
	for _, m := range env.Macros() {
		s.names = append(s.names, m.Function())
	}
	sort.Strings(s.names)
	sort.Strings(s.fields)
	return s
}

func fieldNames(t Type) []string {
	var names []string
	if t.elem != nil {
		return fieldNames(*t.elem)
	}
	for _, f := range t.fields {
		names = append(append(names, f.Name), fieldNames(f.Type)...)
	}
	return names
}

// near says what an unknown name may have meant.
func (s suggestions) near(name string) string {
	if meant := s.paths[name]; meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	if meant := otherNames[name]; meant != "" && s.has(meant) {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	if meant := closest(name, s.names); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return thereAre(s.vars)
}

// has reports whether a path is one of a name, or of a name and its field.
func (s suggestions) has(path string) bool {
	name, field, dotted := strings.Cut(path, ".")
	if !dotted {
		return slices.Contains(s.names, name) || name == "true" || name == "false" || name == "null"
	}
	return slices.ContainsFunc(s.vars, func(v Var) bool {
		return v.Name == name && slices.ContainsFunc(v.Type.fields, func(f Var) bool { return f.Name == field })
	})
}

// nearField says what an unknown field may have meant: of what stands before it, if that has a type by itself, else of all.
func (e *Env) nearField(name, before string) string {
	names, known := e.names.fields, ""
	if fields := e.fieldsOf(pathAtEnd.FindString(before)); fields != nil {
		names, known = nil, thereAre(fields)
		for _, f := range fields {
			names = append(names, f.Name)
		}
	}
	meant := closest(name, names)
	for _, field := range names { // cost for cost_usd, avg for mean
		if meant == "" && (strings.HasPrefix(field, name+"_") || field == otherNames[name]) {
			meant = field
		}
	}
	switch {
	case meant == name: // a field of something else
		return ""
	case meant == "" && name != "target" && slices.Contains(names, "vars") && slices.Contains(names, "metadata") && known != "":
		return fmt.Sprintf("did you mean vars.%s or metadata.%s? %s", name, name, known)
	case meant == "":
		return known
	}
	return fmt.Sprintf("did you mean %q?", meant)
}

// fieldsOf are the fields of the record that a path is; nil for any other text.
func (e *Env) fieldsOf(path string) []Var {
	checked, issues := e.cel.Compile(path)
	if issues.Err() != nil {
		return nil
	}
	if record, ok := e.provider.structs[checked.OutputType().TypeName()]; ok {
		return record.Type.fields
	}
	return nil
}

var pathAtEnd = regexp.MustCompile(`[A-Za-z_]\w*(\.\w+|\[[^\[\]]*\])*$`)

const fewNames = 24

func thereAre(vars []Var) string {
	if len(vars) == 0 || len(vars) > fewNames {
		return ""
	}
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.Name
	}
	return "there are " + strings.Join(names, ", ")
}

// closest is the known word that a misspelt one most likely means, "" without one: at most a third of its letters, but at
// least one, may be wrong.
func closest(word string, known []string) (best string) {
	letters := func(s string) string { return string(slices.Sorted(slices.Values([]rune(s)))) }
	nearest := max(1, len(word)/3) + 1
	for _, k := range known {
		d := levenshtein.ComputeDistance(word, k)
		if d == 2 && letters(word) == letters(k) {
			d = 1 // two letters are swapped
		}
		if d < nearest && d < len(word) {
			best, nearest = k, d
		}
	}
	return best
}
