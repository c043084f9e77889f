// Package agentbench holds nothing but the test of the house's layout: which
// package may reach which, and which alone may import a library.
package agentbench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agentbench/agentbench"

type reach struct{ from, only string }

// reaches says which of our packages a package may reach, itself excepted: the
// first entry that matches holds. A name that ends in /... stands for all
// beneath it as well.
var reaches = []reach{
	{"spec/source", ""},
	{"spec/expr", ""},
	{"engine/secret", ""},
	{"spec", "spec/expr spec/source engine/secret"},
	{"engine/record", ""},
	{"reports/stats", ""},
	{"engine/workspace", ""},
	{"reports/compare", "reports/page reports/stats"},
	{"engine/stop", "spec/... engine/secret engine/record"},
	{"engine/model", "spec/expr engine/record"},
	{"engine/tool", "spec/... engine/secret engine/record engine/external/..."},
	{"engine/replay", "spec/... engine/secret engine/record engine/stop"},
	{"engine/replay/sweep", "spec/... engine/secret engine/record engine/stop engine/replay"},
	{"engine/plan", "spec/... engine/secret engine/record engine/stop"},
	{"engine/...", "spec/... engine/..."},
	{"scorers/judge", "spec/expr engine/model engine/record engine/trace"},
	{"scorers/textual", ""},
	{"scorers/...", "spec/... scorers/... engine/record engine/stop engine/replay engine/model/... engine/agent/... engine/tool/... engine/external/... engine/testrun engine/trace engine/secret engine/workspace"},
	{"reports/page", ""},
	{"reports/overview", "spec/... engine/exit engine/secret engine/record engine/stop engine/plan engine/replay engine/model/... reports/page reports/trajectory"},
	{"reports/trajectory", "spec/source engine/exit engine/record reports/page"},
	{"reports/calibrate", "spec/... engine/exit engine/secret engine/record reports reports/compare reports/page reports/stats"},
	{"reports/tune/...", "spec/... engine/exit engine/secret engine/record engine/stop engine/replay/... reports reports/compare reports/page reports/stats reports/tune"},
	{"reports/browse", "spec/... engine/exit engine/secret engine/record engine/replay reports/..."},
	{"reports/...", "spec/expr spec/source reports/... engine/exit engine/record engine/replay"},
	{"suites/...", ""},
}

// soleImporters are the only packages that import a library.
var soleImporters = map[string]string{
	"github.com/google/cel-go":          "spec/expr",
	"gopkg.in/yaml.v3":                  "spec/source",
	"github.com/olekukonko/tablewriter": "reports/page",
	"github.com/sashabaranov/go-openai": "engine/model/openai",
	"github.com/anthropics":             "a test", // a peer of tests: in the binary it is 4.7 MB, for an address and headers
	"github.com/spf13/cobra":            "cmd/agentbench/command cmd/agentbench/release",
	"github.com/modelcontextprotocol":   "engine/tool/mcp",
	"github.com/bmatcuk/doublestar":     "spec",
	"html/template":                     "a test", // it keeps every exported method, 5 MB
	"gonum.org/v1/gonum":                "reports/stats",
	"gonum.org/v1/gonum/stat/distuv":    "a test", // it links lapack
	"go.opentelemetry.io/otel":          "engine/trace",
	"go.opentelemetry.io/proto":         "a test",
	"github.com/sqlc-dev/meyer":         "scorers",
	"github.com/klauspost/compress":     "engine/imports engine/workspace",
}

// unreachable packages are never reached from others, not even indirectly.
var unreachable = map[string][]string{
	"engine/stop":   {"net", "net/http", "os/exec"},
	"engine/replay": {"net", "net/http", "os/exec"},
	"reports/tune":  {"net", "net/http", "os/exec"},
}

// The most that there may be: packages and imports between them, and how many
// imports lead from the command to the packages that import none. Packages that only
// tests import are not counted.
const mostPackages, mostImports, longestChain = 52, 235, 7

// packages are our packages' direct imports, tests left out.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && name != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); entry.IsDir() && file != "." && err == nil {
			return filepath.SkipDir // a module of its own
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		imports[dir] = append(imports[dir], "")
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			imports[dir] = append(imports[dir], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

// reached are the packages of ours that a package imports, directly or not.
func reached(imports map[string][]string, from string) []string {
	seen := map[string]bool{from: true}
	todo := []string{from}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for _, imported := range imports[next] {
			own, ok := strings.CutPrefix(imported, module+"/")
			if ok && !seen[own] {
				seen[own] = true
				todo = append(todo, own)
			}
		}
	}
	delete(seen, from)
	var all []string
	for name := range seen {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func matches(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == below || strings.HasPrefix(name, below+"/")
	}
	return pattern == name
}

func TestImportsPointDown(t *testing.T) {
	imports := packages(t)
	if len(imports["engine/stop"]) < 3 || len(imports["spec"]) < 3 {
		t.Fatalf("the packages were not found: %v", imports)
	}
	for name := range imports {
		at := slices.IndexFunc(reaches, func(rule reach) bool { return matches(rule.from, name) })
		if at < 0 {
			continue
		}
		allowed := strings.Fields(reaches[at].only)
		for _, target := range reached(imports, name) {
			if !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, target) }) {
				t.Errorf("%s reaches %s; it may reach only: %s", name, target, reaches[at].only)
			}
		}
	}
}

// What people have to know of the house stays small.
func TestTheHouseStaysSmall(t *testing.T) {
	imports := packages(t)
	own := map[string][]string{}
	for name, all := range imports {
		if name == "." || strings.HasSuffix(name, "test") {
			continue
		}
		own[name] = nil
		for _, target := range all {
			if below, ok := strings.CutPrefix(target, module+"/"); ok && !slices.Contains(own[name], below) {
				own[name] = append(own[name], below)
			}
		}
	}
	chains := map[string]int{}
	var chain func(string) int
	chain = func(name string) int {
		if _, known := chains[name]; !known {
			for _, target := range own[name] {
				chains[name] = max(chains[name], 1+chain(target))
			}
		}
		return chains[name]
	}
	edges, longest := 0, 0
	for name, targets := range own {
		edges, longest = edges+len(targets), max(longest, chain(name))
	}
	t.Logf("%d packages, %d imports, a chain of %d", len(own), edges, longest)
	if len(own) < 30 || len(own) > mostPackages || edges > mostImports || longest > longestChain {
		t.Errorf("%d packages (at most %d), %d imports (%d), a chain of %d (%d)", len(own), mostPackages, edges, mostImports, longest, longestChain)
	}
}

func TestOneImporterForEachLibrary(t *testing.T) {
	for name, imported := range packages(t) {
		for _, target := range imported {
			for library, importer := range soleImporters {
				if matches(library+"/...", target) && !slices.Contains(strings.Fields(importer), name) {
					t.Errorf("%s imports %s; only %s may", name, target, importer)
				}
			}
		}
	}
}

func TestDecisionsReachNoNetwork(t *testing.T) {
	imports := packages(t)
	for from, forbidden := range unreachable {
		for _, name := range append(reached(imports, from), from) {
			for _, target := range imports[name] {
				if slices.Contains(forbidden, target) {
					t.Errorf("%s reaches %s through %s", from, target, name)
				}
			}
		}
	}
}

// Records are read by programs of others: the package brings no library but that of JSON.
func TestRecordsUseTheStandardLibraryAndOneForJSON(t *testing.T) {
	for _, target := range packages(t)["engine/record"] {
		ours := target == "golang.org/x/sys/unix" || strings.HasPrefix(target, "github.com/go-json-experiment/json")
		if first, _, _ := strings.Cut(target, "/"); strings.Contains(first, ".") && !ours {
			t.Errorf("engine/record imports %s", target)
		}
	}
}

// stable are the packages whose API keeps its promises from one version to the next.
var stable = []string{"spec", "engine", "engine/record", "engine/stop", "engine/replay", "reports/stats", "cmd/agentbench/command"}

// The comment of a package begins with its name. All but the stable ones, and those that are internal to their tree, say
// that they may change.
func TestEveryPackageSaysWhatItDecides(t *testing.T) {
	const mayChange = "It is no stable API."
	found := 0
	for dir := range packages(t) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		name, comment, comments := "", "", 0
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") || dir == "." {
				name = parsed.Name.Name
				if parsed.Doc != nil {
					comment, comments = strings.Join(strings.Fields(parsed.Doc.Text()), " "), comments+1
				}
			}
		}
		begins := "Package " + name + " "
		if name == "main" {
			begins = "Command " + path.Base(dir) + " "
		}
		if !strings.HasPrefix(comment, begins) || comments != 1 {
			t.Errorf("%s: want one comment that begins with %q, got %.60q", dir, begins, comment)
		}
		isStable := slices.Contains(stable, dir)
		if isStable {
			found++
		}
		if says := strings.Contains(comment, mayChange); says == isStable && name != "main" && !strings.Contains(dir, "internal/") {
			t.Errorf("%s: stable %v, and its comment has %q: %v", dir, isStable, mayChange, says)
		}
	}
	if found != len(stable) {
		t.Errorf("%d of %d stable packages were found", found, len(stable))
	}
}

func TestTheArchitectureNamesFilesThatAreThere(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9]+/[a-z0-9/_]*\\.go)`").FindAllSubmatch(text, -1)
	if len(named) < 10 {
		t.Fatalf("only %d files are named", len(named))
	}
	for _, name := range named {
		if _, err := os.Stat(string(name[1])); err != nil {
			t.Error(err)
		}
	}
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Fields("CHANGELOG.md CONTRIBUTING.md Dockerfile LICENSE NOTICE README.md SECURITY.md action.yml bench_test.go ci_test.go cmd docs engine go.mod go.sum figures_test.go layout_test.go norace_test.go race_test.go recorded_test.go recorded_compare_test.go recorded_conversations_test.go recorded_stats_test.go words_test.go reports scorers spec suites testdata results")
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) && path.Ext(name) != ".test" {
			t.Errorf("%s does not belong at the top level", name)
		}
	}
}

// Tests try the same cases every time: properties draw from engine/propertytest,
// other random numbers from a seed that stands in the test.
func TestTestsDrawFromFixedSeeds(t *testing.T) {
	tried := 0
	eachTestFile(t, func(path string, file *ast.File) {
		for _, what := range drawsByChance(file) {
			t.Errorf("%s: %s: use propertytest.Check, or rand.New(rand.NewPCG(1, 2))", path, what)
		}
		if imported(file, module+"/engine/propertytest") != "" {
			tried++
		}
	})
	if tried < 50 {
		t.Errorf("%d files try properties: the test reads the wrong files", tried)
	}
}

func TestWhatDrawsByChanceIsFound(t *testing.T) {
	for body, found := range map[string]bool{
		`rapid.Check(t, func(t *rapid.T) {})`:                     true,
		`t.Run("x", rapid.MakeCheck(func(t *rapid.T) {}))`:        true,
		`rapid.Int().Example()`:                                   true,
		`rapid.Int().Example(1)`:                                  false,
		`rand.Shuffle(2, nil)`:                                    true,
		`rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))`: true,
		`rand.New(rand.NewPCG(1, 2)).Shuffle(2, nil)`:             false,
		`propertytest.Check(t, func(t *rapid.T) {})`:              false,
	} {
		text := "package p\nimport (\"math/rand/v2\"; \"pgregory.net/rapid\"; \"time\"; \"x/propertytest\")\nfunc TestX(t *T) { " + body + " }"
		file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if what := drawsByChance(file); len(what) > 0 != found {
			t.Errorf("%s: %q", body, what)
		}
	}
}

func eachTestFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(filepath.ToSlash(path), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// imported is the name by which a file knows a package, "" where it does not.
func imported(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if is, _ := strconv.Unquote(spec.Path.Value); is != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		parts := strings.Split(strings.TrimSuffix(path, "/v2"), "/")
		return parts[len(parts)-1]
	}
	return ""
}

// drawsByChance is what of a file's calls gives something else at each run.
func drawsByChance(file *ast.File) (all []string) {
	for _, path := range []string{"math/rand", "testing/quick", "hash/maphash"} {
		if imported(file, path) != "" {
			all = append(all, path)
		}
	}
	rapid, random := imported(file, "pgregory.net/rapid"), imported(file, "math/rand/v2")
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selected, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := selected.X.(*ast.Ident)
		name := selected.Sel.Name
		switch {
		case rapid != "" && name == "Example" && len(call.Args) == 0, of != nil && of.Name == rapid && (name == "Check" || name == "MakeCheck"):
			all = append(all, name)
		case of != nil && of.Name == random && (!strings.HasPrefix(name, "New") || asksTheTime(call)):
			all = append(all, random+"."+name)
		}
		return true
	})
	return all
}

// asksTheTime reports whether the arguments of a call do.
func asksTheTime(call *ast.CallExpr) (asks bool) {
	for _, argument := range call.Args {
		ast.Inspect(argument, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			asks = asks || ok && (name.Name == "Now" || name.Name == "Getpid")
			return true
		})
	}
	return asks
}
