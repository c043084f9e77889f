package agentbench

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// room is what can be counted of a package from its syntax.
type room struct {
	lines, tests int
	exported     int
	files        map[string]*ast.File // without tests
	declared     map[string]string    // package-level names and methods: the file
	uses         map[string]map[string]bool
	counts       map[string]int // identifiers, by name
	short        []string       // unexported functions of at most 8 lines
	wide         []string       // structs of more than 20 fields
}

// TestFigures prints how large each package is, and what says how hard it is to read. -v shows it.
func TestFigures(t *testing.T) {
	rooms := map[string]*room{}
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		r := rooms[dir]
		if r == nil {
			r = &room{files: map[string]*ast.File{}, declared: map[string]string{}, uses: map[string]map[string]bool{}, counts: map[string]int{}}
			rooms[dir] = r
		}
		n := strings.Count(string(text), "\n")
		if strings.HasSuffix(path, "_test.go") {
			r.tests += n
			return nil
		}
		r.lines += n
		r.files[path], err = parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all, ofStable, once, up int
	var lines, tests int
	var wide []string
	t.Logf("%-32s %6s %6s %8s %6s %6s", "package", "lines", "tests", "exported", "once", "up")
	for _, dir := range slices.Sorted(maps.Keys(rooms)) {
		r := rooms[dir]
		for _, path := range slices.Sorted(maps.Keys(r.files)) {
			r.count(files, path, r.files[path])
		}
		called, back := r.calledOnce(), r.back()
		t.Logf("%-32s %6d %6d %8d %6d %6d", dir, r.lines, r.tests, r.exported, called, back)
		lines, tests, all, once, up = lines+r.lines, tests+r.tests, all+r.exported, once+called, up+back
		if slices.Contains(stable, dir) {
			ofStable += r.exported
		}
		for _, name := range r.wide {
			wide = append(wide, dir+"."+name)
		}
	}
	t.Logf("%d lines, and %d of tests; %d exported names, %d of stable packages; %d functions of at most 8 lines that are called once; %d arrows up", lines, tests, all, ofStable, once, up)
	t.Logf("structs of more than 20 fields: %s", strings.Join(wide, ", "))
	if lines < 1000 || all == 0 || once == 0 {
		t.Error("nothing was counted")
	}
}

// count takes the declarations and identifiers of a file.
func (r *room) count(files *token.FileSet, path string, file *ast.File) {
	declare := func(name string, public bool) {
		r.declared[name] = path
		if public && ast.IsExported(name) {
			r.exported++
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name.Name, d.Recv == nil)
			long := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1
			if !d.Name.IsExported() && long <= 8 {
				r.short = append(r.short, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declare(s.Name.Name, true)
					if of, is := s.Type.(*ast.StructType); is && of.Fields.NumFields() > 20 {
						r.wide = append(r.wide, s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						declare(name.Name, true)
					}
				}
			}
		}
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if name, is := n.(*ast.Ident); is {
			used[name.Name] = true
			r.counts[name.Name]++
		}
		return true
	})
	r.uses[path] = used
}

// calledOnce is how many short functions have one use beside their declaration.
func (r *room) calledOnce() (n int) {
	for _, name := range r.short {
		if r.counts[name] == 2 {
			n++
		}
	}
	return n
}

// back is how many arrows, from the file that uses a name to the file that declares it, run against an order of the files in which each
// stands above those that it uses: from the top, the file that most others do not use.
func (r *room) back() (n int) {
	to := map[string]map[string]bool{}
	for file, used := range r.uses {
		to[file] = map[string]bool{}
		for name := range used {
			if at := r.declared[name]; at != "" && at != file {
				to[file][at] = true
			}
		}
	}
	left := slices.Sorted(maps.Keys(to))
	for len(left) > 0 {
		surplus := func(file string) (s int) { // arrows out of the file, less those into it
			for _, other := range left {
				if to[file][other] {
					s++
				}
				if to[other][file] {
					s--
				}
			}
			return s
		}
		top := slices.MaxFunc(left, func(a, b string) int { return cmp.Or(cmp.Compare(surplus(a), surplus(b)), cmp.Compare(b, a)) })
		left = slices.DeleteFunc(left, func(file string) bool { return file == top })
		for _, below := range left {
			if to[below][top] {
				n++
			}
		}
	}
	return n
}
