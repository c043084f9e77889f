package command

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
)

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

func TestCompareDocument(t *testing.T) { runDocument(t, "../../../docs/compare.md", 2) }

func TestCalibrateDocument(t *testing.T) { runDocument(t, "../../../docs/calibrate.md", 3) }

func TestScoreDocument(t *testing.T) { runDocument(t, "../../../docs/score.md", 5) }

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
			writeNamed(t, b.lines)
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
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runAll runs the commands of a block and compares what they print.
func runAll(t *testing.T, lines []string) (commands int) {
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
		code := run(context.Background(), append(strings.Fields(command), quietly(command)...), env, strings.NewReader(""), &out, &out)
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
