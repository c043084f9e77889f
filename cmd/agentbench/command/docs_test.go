package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// TestLanguageNamesEveryKey compares the keys of the schemas with docs/language.md and the pages that it leads to.
func TestLanguageNamesEveryKey(t *testing.T) {
	text := ""
	for _, page := range []string{"language.md", "loops.md", "agents.md", "coding-agents.md", "scorers.md", "providers.md", "tune.md"} {
		text += readDoc(t, page)
	}
	for _, schema := range []func() ([]byte, error){spec.SchemaSuite, spec.SchemaLoop} {
		var tree any
		written, err := schema()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &tree); err != nil {
			t.Fatal(err)
		}
		for key := range properties(tree, map[string]bool{}) {
			if !named(text, key) {
				t.Errorf("no page of the language names the key %q", key)
			}
		}
	}
}

// properties collects the names of all properties in a schema.
func properties(node any, found map[string]bool) map[string]bool {
	switch n := node.(type) {
	case map[string]any:
		if declared, ok := n["properties"].(map[string]any); ok {
			for key := range declared {
				found[key] = true
			}
		}
		for _, child := range n {
			properties(child, found)
		}
	case []any:
		for _, child := range n {
			properties(child, found)
		}
	}
	return found
}

// TestResultsNamesEveryField compares what a suite leaves behind, its records, events, scores and report, with
// docs/results.md, docs/report.md and, for what is compared, docs/compare.md.
func TestResultsNamesEveryField(t *testing.T) {
	skipRace(t)
	t.Parallel()
	text := readDoc(t, "results.md") + readDoc(t, "report.md") + readDoc(t, "compare.md")
	dir := filepath.Join(t.TempDir(), "r")
	var events, report, errs bytes.Buffer
	do := func(out *bytes.Buffer, args ...string) {
		if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
	do(&events, "run", "roadmap", "-q", "--out", dir, "--events", "-")
	do(&report, "report", dir, "--format", "json")
	for _, file := range []string{"records.jsonl", "scores.jsonl"} {
		lines, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		events.Write(lines)
	}
	written, err := json.Marshal(recordingtest.Conversation())
	if err != nil {
		t.Fatal(err)
	}
	events.Write(written)
	for decoder := json.NewDecoder(&events); decoder.More(); {
		checkKeys(t, text, decoder)
	}
	checkKeys(t, text, json.NewDecoder(&report))
}

func checkKeys(t *testing.T, text string, decoder *json.Decoder) {
	t.Helper()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	for key := range keys(value, map[string]bool{}) {
		if !named(text, strings.TrimSuffix(key, "_interval")) { // X_interval stands for all of them
			t.Errorf("docs/results.md does not name the field %q", key)
		}
	}
}

// keys collects the keys of all objects.
func keys(node any, found map[string]bool) map[string]bool {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			found[key] = true
			keys(child, found)
		}
	case []any:
		for _, child := range n {
			keys(child, found)
		}
	}
	return found
}

// named says whether a text has a word in code: `word`, or as part of it.
func named(text, word string) bool {
	inside := false
	for _, part := range strings.Split(text, "`") {
		if inside {
			for _, w := range strings.FieldsFunc(part, func(r rune) bool { return !wordRune(r) }) {
				if w == word {
					return true
				}
			}
		}
		inside = !inside
	}
	return false
}

func wordRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The models and prices of docs/providers.md are loaded; TestMockDocument runs its commands.
func TestProvidersDocument(t *testing.T) {
	text := readDoc(t, "providers.md")
	t.Chdir(t.TempDir())
	checks := 0
	for _, b := range blocks(text) {
		if b.language != "yaml" || strings.HasPrefix(b.lines[0], "# ") {
			continue
		}
		if b.lines[0] == "price:" { // of a model
			b.lines = append([]string{"models:", "  small:", "    provider: openai", "    name: x"}, indentedBy("    ", b.lines)...)
		}
		suite := "suite: s\ntasks: [{input: x}]\nconfigurations: [{name: a, loop: l.yaml}]\n" + strings.Join(b.lines, "\n")
		first, _, _ := strings.Cut(strings.TrimSpace(b.lines[1]), ":") // of its models
		for name, content := range map[string]string{"l.yaml": "loop: l\nagent: {model: " + first + "}\nprompt: p\n", "s.yaml": suite} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checks += runAll(t, []string{"$ agentbench check s.yaml", "s.yaml: suite s is fine: 1 task, 1 configuration, 1 trial, 0 scorers, 1 run"})
	}
	if checks != 3 {
		t.Errorf("found %d blocks of models", checks)
	}
}

func indentedBy(indent string, lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, indent+line)
	}
	return all
}

var (
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// anchors are the headings of a page as GitHub links to them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, b := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, b[1])
		found[name] = true
	}
	return found
}

// Links of the documents lead somewhere, and docs/README.md leads to every document.
func TestLinksOfTheDocuments(t *testing.T) {
	skipRace(t)
	t.Parallel()
	top := filepath.Join("..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil || len(pages) < 15 {
		t.Fatal(pages, err)
	}
	others, err := filepath.Glob(filepath.Join(top, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, others...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil || anchor != "" && !anchors(string(content))[anchor] {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), found[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links", links)
	}
	index := readDoc(t, "README.md")
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

// beside are files of docs that are no pages: tables of developers, and the glossary.
var beside = []string{"benchmarks.md", "commands.md", "faults.md", "features.md", "glossary.md"}

// The documentation is 15 pages that a reader can survey.
func TestThePagesAreShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, lines := 0, 0
	for _, file := range files {
		name := filepath.Base(file)
		if slices.Contains(beside, name) {
			continue
		}
		of := 0
		for line := range strings.Lines(readDoc(t, name)) {
			of++
			if long := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); long > 160 {
				t.Errorf("docs/%s:%d has %d characters; 160 are allowed", name, of, long)
			}
		}
		if of > 350 {
			t.Errorf("docs/%s has %d lines; 350 are allowed", name, of)
		}
		pages, lines = pages+1, lines+of
	}
	if pages != 15 || lines > 4000 {
		t.Errorf("%d pages with %d lines; 15 with 4000 are allowed", pages, lines)
	}
}

// block is a fenced block of a Markdown file.
type block struct {
	language string
	lines    []string
}

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

func blocks(text string) (all []block) {
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		all = append(all, block{match[1], strings.Split(strings.TrimSuffix(match[2], "\n"), "\n")})
	}
	return all
}

// TestReadme writes the files that the README shows and runs its commands, in
// their order. A line of three dots stands for any lines. TestCompareDocument
// does the same for docs/compare.md.
func TestReadme(t *testing.T) { runDocument(t, "../../../README.md", 5) }

func TestStartDocument(t *testing.T) { runDocument(t, "../../../docs/start.md", 6) }

func TestCompareDocument(t *testing.T) { runDocument(t, "../../../docs/compare.md", 2) }

func TestResultsDocument(t *testing.T) { runDocument(t, "../../../docs/results.md", 5) }

// shellWords are the words of a command as a shell sees them: what single quotes hold is one.
func shellWords(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func runDocument(t *testing.T, path string, least int) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, b := range blocks(string(text)) {
		switch b.language {
		case "yaml", "csv":
			if b.lines[0] != "scorers:" { // an example of TestScorersDocument in package scorers
				writeNamed(t, b.lines)
			}
		case "jsonl":
			if err := os.WriteFile("log.jsonl", []byte(strings.Join(b.lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		case "console":
			commands += runAll(t, b.lines)
		}
	}
	if commands < least {
		t.Errorf("found %d commands in %s", commands, path)
	}
}

// writeNamed writes a block under the name in its first line.
func writeNamed(t *testing.T, lines []string) {
	name, ok := strings.CutPrefix(lines[0], "# ")
	if !ok {
		t.Fatalf("a block does not start with its file's name: %q", lines[0])
	}
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runAll runs the commands of a block and compares what they print.
func runAll(t *testing.T, lines []string) (commands int) {
	t.Helper()
	skipLong(t)
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ agentbench ")
		if !ok {
			t.Fatalf("want a command, found %q", lines[i])
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		var out bytes.Buffer
		env := func(name string) string { return map[string]string{"COLUMNS": "100", "PATH": os.Getenv("PATH")}[name] }
		code := run(context.Background(), append(shellWords(command), quietly(command)...), env, strings.NewReader(""), &out, &out)
		if (code == exit.WrongUsage || code == exit.WrongSpec) && slices.Equal(lines[i+1:end], []string{"..."}) {
			t.Errorf("agentbench %s is a mistake, and the document does not say so:\n%s", command, out.String())
		}
		if !matches(out.String(), lines[i+1:end]) {
			t.Errorf("agentbench %s printed\n%s\nwhile the document shows\n%s", command, out.String(), strings.Join(lines[i+1:end], "\n"))
		}
		i = end
		commands++
	}
	return commands
}

// quietly leaves the progress and the notes of run out.
func quietly(command string) []string {
	if strings.HasPrefix(command, "run ") {
		return []string{"--quiet"}
	}
	return nil
}

// matches compares lines; three dots stand for any number of them.
func matches(got string, want []string) bool {
	var pattern strings.Builder
	for _, line := range want {
		if line == "..." {
			pattern.WriteString("(.*\n)*?")
		} else {
			pattern.WriteString(regexp.QuoteMeta(line) + "\n")
		}
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got)
}

// What report, diff, replay and tune print as JSON is what schema says of it.
func TestJSONKeepsToItsSchema(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	printed(t, "run", "application", "-q", "--out", dir)
	for kind, args := range map[string][]string{
		"report": {"report", dir, "--format", "json"},
		"diff":   {"diff", dir + ":one-try", dir + ":two-tries", "--format", "json"},
		"replay": {"replay", dir, "--format", "json"},
		"tune":   {"tune", dir, "--configuration", "two-tries", "-p", "terminate.max_iterations=1,2", "--choose", "at_least:0.5", "--format", "json"},
	} {
		schema, err := jsonschema.UnmarshalJSON(strings.NewReader(printed(t, "schema", kind)))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("schema.json", schema); err != nil {
			t.Fatal(err)
		}
		compiled, err := compiler.Compile("schema.json")
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(printed(t, args...)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// printed is what a command writes to stdout.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("agentbench %q: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

// Every example of the language of agents is run, with scripted models.
func TestAgentsDocument(t *testing.T) { runDocument(t, "../../../docs/agents.md", 8) }

// The examples of the mock server in docs/providers.md run: a block starts the server, curl asks it, and the
// answers are compared. Three dots stand for any part of a line, or for lines.
func TestMockDocument(t *testing.T) {
	skipLong(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	text, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const address = "http://127.0.0.1:8787"
	served, asked := "", 0
	for _, b := range blocks(string(text)) {
		if b.language == "yaml" && strings.HasPrefix(b.lines[0], "# ") {
			writeNamed(t, b.lines)
		}
	}
	for _, b := range blocks(string(text)) {
		for i := 0; b.language == "console" && i < len(b.lines); {
			end := i + 1
			for end < len(b.lines) && !strings.HasPrefix(b.lines[end], "$ ") {
				end++
			}
			command, want := strings.TrimPrefix(b.lines[i], "$ "), strings.Join(b.lines[i+1:end], "\n")+"\n"
			if flags, ok := strings.CutPrefix(command, "agentbench "); ok {
				served = startMock(t, strings.Replace(flags, "8787", "0", 1))
			} else {
				got, err := exec.Command("sh", "-c", strings.Replace(command, address, served, 1)).Output()
				pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, `.*`)
				if err != nil || !regexp.MustCompile("(?s)^"+pattern+"$").Match(got) {
					t.Errorf("%s printed (%v)\n%s\nwhile the document shows\n%s", command, err, got, want)
				}
				asked++
			}
			i = end
		}
	}
	if asked < 2 {
		t.Errorf("found %d requests in docs/providers.md", asked)
	}
}

// startMock runs a mock server until the test ends, and gives its address without /v1.
func startMock(t *testing.T, flags string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	told, tell := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, strings.Fields(flags), os.Getenv, strings.NewReader(""), tell, tell) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("the mock server ended with exit code %d", code)
		}
	})
	line, err := bufio.NewReader(told).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "listening on "), "/v1")
}

// A model of a suite that ships answers over HTTP; suites without one, and what is no suite, are refused.
func TestMockServesASuite(t *testing.T) {
	t.Chdir(t.TempDir())
	address := startMock(t, "mock --port 0 --suite quickstart")
	response, err := http.Get(address + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	names, _ := io.ReadAll(response.Body)
	response.Body.Close()
	var model string
	if found := regexp.MustCompile(`"id":"([^"]+)"`).FindSubmatch(names); found != nil {
		model = string(found[1])
	}
	response, err = http.Post(address+"/v1/chat/completions", "application/json", strings.NewReader(`{"model": "`+model+`", "messages": [{"role": "user", "content": "x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode != 200 || !strings.Contains(string(got), `confidence`) {
		t.Errorf("model %q of %s: %s", model, names, got)
	}
	write(t, ".", "l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
	write(t, ".", "s.yaml", "suite: s\ntasks: [{input: a}]\nmodels: {m: {provider: openai, base_url: 'http://127.0.0.1:1/v1'}}\nconfigurations: [{name: a, loop: l.yaml}]\n")
	for name, want := range map[string]string{"s.yaml": "the suite has no script or simulated model", "l.yaml": "is a loop, not a suite", "none.yaml": "file not found"} {
		var told bytes.Buffer
		if code := run(t.Context(), []string{"mock", "--suite", name}, os.Getenv, nil, io.Discard, &told); code == 0 || !strings.Contains(told.String(), want) {
			t.Errorf("%s: code %d, %s", name, code, told.String())
		}
	}
}

func TestLanguageDocument(t *testing.T) { runDocument(t, "../../../docs/language.md", 2) }

// The judges, labels and metrics of docs/scorers.md are run; scorers.TestScorersDocument plays the other examples.
func TestScorersDocument(t *testing.T) { runDocument(t, "../../../docs/scorers.md", 4) }

// The commands of docs/coding-agents.md print what they are said to.
func TestCodingAgentsDocumentCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	runDocument(t, "../../../docs/coding-agents.md", 6)
}

// The suite and the loops of docs/coding-agents.md can be checked; only the agents are not installed.
func TestCodingAgentsDocument(t *testing.T) {
	text := readDoc(t, "coding-agents.md")
	t.Chdir(t.TempDir())
	for _, b := range blocks(text) {
		if b.language == "yaml" {
			writeNamed(t, b.lines)
		}
	}
	for _, loop := range []string{"codex.loop.yaml", "qwen.loop.yaml", "short.loop.yaml"} {
		suite, err := os.ReadFile("bugs.suite.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("s.yaml", bytes.ReplaceAll(suite, []byte("codex.loop.yaml"), []byte(loop)), 0o600); err != nil {
			t.Fatal(err)
		}
		var said, errs bytes.Buffer
		code := run(t.Context(), []string{"check", "s.yaml"}, os.Getenv, strings.NewReader(""), &said, &errs)
		if code != 0 || !strings.Contains(said.String(), "suite bugs is fine: 2 tasks") {
			t.Errorf("%s: exit code %d: %s%s", loop, code, said.String(), errs.String())
		}
	}
}

// documentedEvents are the rows of the table of events in docs/results.md, in their order, with their fields.
func documentedEvents(t *testing.T) (names []record.EventType, fields map[record.EventType][]string) {
	t.Helper()
	fields = map[record.EventType][]string{}
	_, section, _ := strings.Cut(readDoc(t, "results.md"), "\n## Events\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := record.EventType(strings.Trim(cells[1], " `"))
		names = append(names, name)
		for i, part := range strings.Split(cells[3], "`") {
			if i%2 == 1 {
				fields[name] = append(fields[name], part)
			}
		}
	}
	return names, fields
}

func TestS2_7_EventsDocumentHasEveryEvent(t *testing.T) {
	names, _ := documentedEvents(t)
	if !slices.Equal(names, record.EventTypes()) {
		t.Errorf("docs/results.md has the events\n%v, there are\n%v", names, record.EventTypes())
	}
}

// Every event of a run, and of one that went wrong, has the fields that the
// document says, and no others; every field of an event is documented somewhere.
func TestS2_7_EventsDocumentHasEveryField(t *testing.T) {
	_, fields := documentedEvents(t)
	common := []string{"event", "run", "at_ns", "iteration", "phase", "strategy"}
	everywhere := slices.Concat(append(slices.Collect(maps.Values(fields)), common)...)
	wrong := recordingtest.Conversation()
	wrong.Outcome.Error = &record.Error{Class: record.Server, Message: "500"}
	wrong.Iterations[0].Error, wrong.Iterations[0].Cut = wrong.Outcome.Error, "timeout"
	wrong.Iterations[0].Evaluation = &record.Evaluation{Confidence: 0.5, Feedback: "no"}
	plain := recordingtest.Conversation()
	plain.Iterations[0].Prompt, plain.Iterations[0].Steps = "", nil
	for _, run := range []*record.Run{recordingtest.Conversation(), wrong, plain} {
		for event := range record.Events(run) {
			for _, key := range slices.Sorted(maps.Keys(membersOf(t, event))) {
				if !slices.Contains(common, key) && !slices.Contains(fields[event.Type], key) {
					t.Errorf("docs/results.md does not say that %s has %s", event.Type, key)
				}
			}
		}
	}
	for i := range reflect.TypeFor[record.Event]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[record.Event]().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(everywhere, name) {
			t.Errorf("docs/results.md does not name %s", name)
		}
	}
}

func membersOf(t *testing.T, event record.Event) map[string]json.RawMessage {
	t.Helper()
	line, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

// TestFeaturesNamesTestsOfEveryFeature: docs/features.md has one row for each
// feature, in their order, with tests that there are; one of them is named after
// the row.
func TestFeaturesNamesTestsOfEveryFeature(t *testing.T) {
	skipRace(t)
	t.Parallel()
	text, wanted := readDoc(t, "features.md"), featureRows()
	namesTests(t, text)
	for line := range strings.Lines(text) {
		id, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !isRow || !strings.HasPrefix(id, "S") {
			continue
		}
		if len(wanted) == 0 || id != wanted[0] {
			t.Fatalf("the row %q stands where %q should", id, wanted)
		}
		wanted = wanted[1:]
		provesFeature(t, id, line)
	}
	if len(wanted) > 0 {
		t.Errorf("these rows are missing: %v", wanted)
	}
}

// provesFeature expects a test of the name of a row.
func provesFeature(t *testing.T, id, line string) {
	t.Helper()
	after := regexp.MustCompile(strings.ReplaceAll(id, ".", "_") + `(_|\.|$)`)
	for _, found := range append(namedTest.FindAllStringSubmatch(line, -1), namedScript.FindAllStringSubmatch(line, -1)...) {
		if after.MatchString(found[1]) {
			return
		}
	}
	t.Errorf("%s has no test of its name: %s", id, line)
}

// namesTests expects that all tests and scripts that a text names are there.
func namesTests(t *testing.T, text string) {
	t.Helper()
	tests := testsByName(t)
	for _, named := range namedTest.FindAllStringSubmatch(text, -1) {
		if !tests[named[1]] {
			t.Errorf("there is no test %s", named[1])
		}
	}
	for _, named := range namedScript.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("../../../testdata", named[1])); err != nil {
			t.Errorf("there is no script %s", named[1])
		}
	}
}

// featureRows are the rows that have to be there.
func featureRows() []string {
	var rows []string
	for series, last := range []int{8, 15, 8, 6, 9} {
		for n := 1; n <= last; n++ {
			rows = append(rows, fmt.Sprintf("S%d.%d", series, n))
		}
	}
	return rows
}

var (
	namedTest   = regexp.MustCompile("`(\\w+\\.(?:Test|Fuzz)\\w+)`")
	namedScript = regexp.MustCompile("`((?:script|spec)/\\w+\\.txtar)`")
)

// TestFaultsNamesTestsOfEveryFault: docs/faults.md has a row for each promise
// and each fault that is not about what is still to be built, with tests that
// there are; none has two.
func TestFaultsNamesTestsOfEveryFault(t *testing.T) {
	skipRace(t)
	t.Parallel()
	text, err := os.ReadFile("../../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	namesTests(t, string(text))
	for _, row := range faultRows() {
		at := regexp.MustCompile(`(?m)^\| `+row+` \|.*$`).FindAllString(string(text), -1)
		if len(at) != 1 || !namedTest.MatchString(at[0]) && !namedScript.MatchString(at[0]) {
			t.Errorf("%s has no test, or not one row: %q", row, at)
		}
	}
}

// faultRows are the rows that have to be there.
func faultRows() []string {
	rows := []string{"F9b"}
	for _, each := range []struct {
		letter      string
		first, last int
	}{{"P", 1, 22}, {"F", 1, 26}, {"F", 30, 45}, {"F", 50, 61}, {"F", 70, 78}, {"F", 80, 83}, {"F", 85, 85}} {
		for n := each.first; n <= each.last; n++ {
			rows = append(rows, fmt.Sprintf("%s%d", each.letter, n))
		}
	}
	return rows
}

// testsByName are all tests, each by its folder and its name.
func testsByName(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
