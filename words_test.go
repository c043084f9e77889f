package agentbench

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The glossary has a row for each table and for each column that people see, and for no others.
func TestTheGlossaryHasEveryTableAndColumn(t *testing.T) {
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		section, field string
		types          []string
		least          int
	}{
		{"Tables", "Name", []string{"Table"}, 25},
		{"Columns", "Head", []string{"Column", "GridColumn", ""}, 100},
	} {
		titles := writtenInto(t, of.field, of.types)
		if len(titles) < of.least {
			t.Errorf("only %d were found for %s: %v", len(titles), of.section, slices.Sorted(maps.Keys(titles)))
		}
		rows := glossary(string(text), of.section)
		for _, title := range slices.Sorted(maps.Keys(titles)) {
			if !rows[title] {
				t.Errorf("docs/glossary.md, %s, lacks `%s` (%s)", of.section, title, titles[title])
			}
		}
		for _, row := range slices.Sorted(maps.Keys(rows)) {
			if _, known := titles[row]; !known {
				t.Errorf("docs/glossary.md, %s: no report has `%s`", of.section, row)
			}
		}
	}
}

// glossary has the words in backticks in the first cells of a section's rows.
func glossary(text, section string) map[string]bool {
	_, text, _ = strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string]bool{}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, " | "); len(cells) > 1 {
			for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
				rows[word[1]] = true
			}
		}
	}
	return rows
}

// A writing collects the texts that reach a field of a composite literal: those written there, and the arguments of
// functions whose parameter is.
type writing struct {
	field string
	types []string
	decls map[string][]ast.Node        // by "folder.name": functions, closures as "folder.function.name", constants and variables
	takes map[string]map[int]bool      // of functions: the parameters that reach the field
	found map[string]string            // each text, with its file
	grew  bool                         // takes has
	files map[string]map[string]string // by file: the folders of ours, by the names under which they are imported
}

// inside is where an expression is.
type inside struct {
	folder, file, function string
	body                   ast.Node
	params                 map[string][]param
}

type param struct {
	function string
	index    int
}

func writtenInto(t *testing.T, field string, types []string) map[string]string {
	t.Helper()
	w := &writing{field: field, types: types, decls: map[string][]ast.Node{}, takes: map[string]map[int]bool{}, found: map[string]string{}, files: map[string]map[string]string{}}
	parsed := map[string]*ast.File{}
	for _, pattern := range []string{"reports/*.go", "reports/*/*.go", "cmd/agentbench/command/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			file = filepath.ToSlash(file)
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed[file], w.files[file] = tree, map[string]string{}
			for _, spec := range tree.Imports {
				if of, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(of, module+"/") {
					w.files[file][imported(tree, of)] = strings.TrimPrefix(of, module+"/")
				}
			}
			w.declare(path.Dir(file), tree)
			w.tagged(file, tree)
		}
	}
	for w.grew = true; w.grew; {
		w.grew = false
		for _, file := range slices.Sorted(maps.Keys(parsed)) {
			for _, decl := range parsed[file].Decls {
				at := inside{folder: path.Dir(file), file: file, body: decl, params: map[string][]param{}}
				if f, ok := decl.(*ast.FuncDecl); ok {
					at.function = f.Name.Name
					at = at.taking(at.folder+"."+f.Name.Name, f.Type)
				}
				w.walk(decl, at)
			}
		}
	}
	return w.found
}

// tagged finds the heads in the tags of structs: those of a struct in another one stand below the head of that.
func (w *writing) tagged(file string, tree *ast.File) {
	if w.field != "Head" {
		return
	}
	type tagged struct{ head, of string }
	structs := map[string][]tagged{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range of.Fields.List {
				tag := ""
				if field.Tag != nil {
					tag, _ = strconv.Unquote(field.Tag.Value)
				}
				if col, ok := reflect.StructTag(tag).Lookup("col"); ok && !strings.Contains(col, "between") {
					head, _, _ := strings.Cut(col, ",")
					structs[spec.Name.Name] = append(structs[spec.Name.Name], tagged{head, typeName(field.Type)})
				}
			}
		}
		return true
	})
	for _, fields := range structs {
		for _, field := range fields {
			for _, below := range append(structs[field.of], tagged{})[:max(1, len(structs[field.of]))] {
				if text := strings.Join(strings.Fields(field.head+" "+below.head), " "); text != "" {
					w.found[text] = file
				}
			}
		}
	}
}

// declare remembers what a file declares, and what its functions do.
func (w *writing) declare(folder string, tree *ast.File) {
	for _, decl := range tree.Decls {
		function := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			function = "." + f.Name.Name
			w.decls[folder+function] = append(w.decls[folder+function], f)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						w.decls[folder+function+"."+name.Name] = append(w.decls[folder+function+"."+name.Name], n.Values[i])
					}
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if name, ok := to.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) {
						w.decls[folder+function+"."+name.Name] = append(w.decls[folder+function+"."+name.Name], n.Rhs[i])
					}
				}
			case *ast.RangeStmt:
				if name, ok := n.Value.(*ast.Ident); ok {
					w.decls[folder+function+"."+name.Name] = append(w.decls[folder+function+"."+name.Name], n.X)
				}
			}
			return true
		})
	}
}

// taking is the inside of a function.
func (at inside) taking(function string, of *ast.FuncType) inside {
	at.params = maps.Clone(at.params)
	index := 0
	for _, field := range of.Params.List {
		for _, name := range field.Names {
			at.params[name.Name] = []param{{function, index}}
			index++
		}
	}
	return at
}

func (w *writing) walk(node ast.Node, at inside) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				name, named := to.(*ast.Ident)
				if len(n.Rhs) != len(n.Lhs) {
					break
				}
				if f, ok := n.Rhs[i].(*ast.FuncLit); ok && named {
					w.walk(f.Body, at.taking(at.folder+"."+at.function+"."+name.Name, f.Type))
					return false
				}
			}
		case *ast.CompositeLit:
			if !slices.Contains(w.types, typeName(n.Type)) {
				break
			}
			for _, element := range n.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok && key.Name == w.field {
						w.reach(pair.Value, at)
					}
				}
			}
		case *ast.CallExpr:
			for index := range w.takes[w.called(n.Fun, at)] {
				if index < len(n.Args) {
					w.reach(n.Args[index], at)
				}
			}
		}
		return true
	})
}

// typeName is a type's name without its package; "" where a literal leaves the type out.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case nil:
		return ""
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return "another"
}

// called is the function that a call names, as declare knows it.
func (w *writing) called(function ast.Expr, at inside) string {
	switch f := function.(type) {
	case *ast.IndexExpr:
		return w.called(f.X, at)
	case *ast.Ident:
		if local := at.folder + "." + at.function + "." + f.Name; w.decls[local] != nil {
			return local
		}
		return at.folder + "." + f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok && w.files[at.file][of.Name] != "" {
			return w.files[at.file][of.Name] + "." + f.Sel.Name
		}
		return at.folder + "." + f.Sel.Name
	}
	return ""
}

// reach notes what an expression brings to the field.
func (w *writing) reach(e ast.Expr, at inside) {
	for _, text := range w.texts(e, at, 0) {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			if interval := strings.TrimSuffix(text, " 95%"); interval != text {
				text = "95%" // of whatever the column beside it is
			}
			w.found[text] = at.file
		}
	}
}

func (w *writing) texts(e ast.Expr, at inside, deep int) (all []string) {
	if deep > 5 {
		return nil
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			all = append(all, text)
		}
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			all = append(all, w.texts(element, at, deep+1)...)
		}
	case *ast.BinaryExpr: // of a sum with an unknown part the other part is the text
		left, right := w.texts(e.X, at, deep+1), w.texts(e.Y, at, deep+1)
		if len(left) == 0 || len(right) == 0 {
			return append(left, right...)
		}
		for _, text := range left {
			for _, more := range right {
				all = append(all, text+more)
			}
		}
	case *ast.Ident:
		if params := at.params[e.Name]; len(params) > 0 {
			p := params[0]
			if !w.takes[p.function][p.index] {
				if w.takes[p.function] == nil {
					w.takes[p.function] = map[int]bool{}
				}
				w.takes[p.function][p.index], w.grew = true, true
			}
			return nil
		}
		for _, value := range append(w.decls[at.folder+"."+at.function+"."+e.Name], w.decls[at.folder+"."+e.Name]...) {
			if value, ok := value.(ast.Expr); ok {
				all = append(all, w.texts(value, at, deep+1)...)
			}
		}
	case *ast.SelectorExpr:
		for _, value := range w.decls[w.called(e, at)] {
			if value, ok := value.(ast.Expr); ok {
				all = append(all, w.texts(value, at, deep+1)...)
			}
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			for _, format := range w.texts(e.Args[0], at, deep+1) {
				all = append(all, regexp.MustCompile(`%\w`).ReplaceAllString(format, ""))
			}
		}
		for _, function := range w.decls[w.called(e.Fun, at)] {
			ast.Inspect(function, func(n ast.Node) bool {
				if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) == 1 {
					all = append(all, w.texts(back.Results[0], inside{folder: at.folder, file: at.file, params: map[string][]param{}}, deep+1)...)
				}
				return true
			})
		}
	}
	return all
}

// phrases are those that read like a translation, each with what to write instead.
var phrases = []struct{ pattern, plain string }{
	{`(is|are|was|were|be|been) told`, `gets, knows; "is reported"`},
	{`told (apart|by|of|on|about|that)|untold`, `distinguished, reported`},
	{`tells? (apart|of|what|how|which|whether|that|the same|nothing|most)`, `prints, shows, lists`},
	{`(go|goes|going|gone|went) on`, `continue, resume`},
	{`(held|holds?|holding) (\S+ ){0,4}against`, `compared with`},
	{`(stand|stands|standing|stood) (in|on|at|by|below|beneath|beside|between|there|under|with|out|before|behind|above|first|apart|anywhere|alone|as|once|twice|unless|neither|where)`, `is in, comes before, appears`},
	{`nobody|somebody|whoever|whosoever|anybody`, `what happens: "without a call", "every user"`},
	{`that (is|are) none|(it|that|which|what|this) (is|are) no [a-z]+|takes? no part`, `is not a, is invalid`},
	{`puts? down`, `written`},
	{`dealt|deals? out`, `assigned, partitioned`},
	{`as-if|as if (nothing|it had|they had|there were)`, `virtual time, uncached cost`},
	{`belief|believ(e|ed|es)`, `the loop's verdict, confidence`},
	{`(one|it|they) cannot tell|cannot tell whether|cannot be told|can be told`, `inconclusive, unknown`},
	{`says? (whether|what|how|which|where|who|nothing|next)`, `reports whether, lists, explains`},
	{`parted by|parts (its|them)`, `separated by`},
	{`(is|are|was|were) given up|gives? up after`, `aborted, abandoned`},
	{`(is|are|was|were) put out|taken back|takes? (\S+ ){1,4}back`, `dropped, removed`},
	{`in vain`, `failed`},
	{`unless it says otherwise`, `by default`},
	{`beneath`, `below`},
	{`foretells?`, `predicts`},
	{`mends?|mended`, `repairs`},
	{`dear(er|est)?`, `expensive`},
	{`for want of`, `without`},
	{`in the place of`, `instead of`},
	{`besides that`, `also`},
	{`as it seems|so to speak|in the making`, `leave it out`},
	{`of one's own`, `your own`},
	{`on its way`, `in flight`},
	{`at hand`, `available`},
}

// Prose of the documents is plain: it has none of the phrases. Code, and what programs print, is not prose.
func TestTheDocumentsHaveNoneOfThePhrases(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatal(len(pages), err)
	}
	words := 0
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := proseOf(string(text))
		words += len(strings.Fields(prose))
		if all := found(prose); len(all) > 0 {
			t.Errorf("%s has %d phrases:\n%s", page, len(all), strings.Join(all, "\n"))
		}
	}
	if words < 20_000 {
		t.Errorf("only %d words were read", words)
	}
}

// texts are what programs say: literals of Go files, help and messages among them, without tests and
// without what is said to models, whose words are part of recorded requests.
func texts(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for dir := range packages(t) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") && !slices.ContainsFunc(toModels, func(begins string) bool { return strings.HasPrefix(text, begins) }) {
						all[filepath.ToSlash(file)] = append(all[filepath.ToSlash(file)], text)
					}
				}
				return true
			})
		}
	}
	return all
}

// toModels are the beginnings of texts that models read. Recorded requests hold them.
var toModels = []string{"You judge the output", "What is between two lines", "Which of them stands first", "not JSON: %q", "\" stands behind", "the block is not", "What stands in a tool", "the user would say", "Ask a question that", "the task's answer cannot"}

// What programs say has none of the phrases either.
func TestTheProgramHasNoneOfThePhrases(t *testing.T) {
	read, left := 0, []string{}
	for file, all := range texts(t) {
		for _, text := range all {
			read++
			for _, phrase := range found(text) {
				_, phrase, _ = strings.Cut(phrase, ": ")
				left = append(left, fmt.Sprintf("%s: %s\n\t%.200q", file, phrase, text))
			}
		}
	}
	if slices.Sort(left); len(left) > 0 {
		t.Errorf("%d phrases:\n%s", len(left), strings.Join(left, "\n"))
	}
	if read < 3000 {
		t.Errorf("only %d texts were read", read)
	}
}

// proseOf is a page without its code; lines keep their places.
func proseOf(text string) string {
	var prose strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		mark := regexp.MustCompile("^(```|~~~)").FindString(line)
		switch {
		case fence == "" && mark != "":
			fence, line = mark, "\n"
		case fence != "":
			if mark == fence {
				fence = ""
			}
			line = "\n"
		case strings.HasPrefix(line, "    "):
			line = "\n"
		}
		prose.WriteString(line)
	}
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(prose.String(), "`")
}

// found are the phrases in a text, each with its line.
func found(text string) (all []string) {
	for _, phrase := range phrases {
		for _, at := range regexp.MustCompile(`(?i)\b(?:`+strings.ReplaceAll(phrase.pattern, " ", `\s+`)+`)\b`).FindAllStringIndex(text, -1) {
			all = append(all, strconv.Itoa(1+strings.Count(text[:at[0]], "\n"))+": "+strconv.Quote(text[at[0]:at[1]])+"; plain: "+phrase.plain)
		}
	}
	return all
}

func TestPhrasesAreFoundInProseAlone(t *testing.T) {
	for text, want := range map[string]int{
		"The agent is told\nan error.":                     1,
		"Runs *go\non* where they ended.":                  1,
		"Nobody is asked; it is held against the target.":  2,
		"It is no verdict. There is no interval.":          1,
		"`it goes on`, and so on.":                         0,
		"```console\nit goes on\n```\n~~~\nnobody\n~~~\n":  0,
		"    goes on\n":                                    0,
		"```\ncode\n```\n\nIt goes on.\n":                  1,
		"The run continues; `kept` counts what it retains": 0,
	} {
		if all := found(proseOf(text)); len(all) != want {
			t.Errorf("%q: %q", text, all)
		}
	}
}
