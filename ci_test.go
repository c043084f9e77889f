package agentbench

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// ci runs .ci/run with CI_ONLY.
func ci(t *testing.T, only string) (code int, said string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	command := exec.Command("bash", ".ci/run")
	command.Env = append(os.Environ(), "CI_ONLY="+only)
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parts are the parts of .ci/run, and what each says it does.
func parts(t *testing.T) map[string]string {
	t.Helper()
	code, said := ci(t, "help")
	does := map[string]string{}
	for line := range strings.Lines(said) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		does[name] = strings.TrimSpace(what)
	}
	if code != 0 || len(does) < 9 {
		t.Fatalf("CI_ONLY=help .ci/run: exit code %d: %s", code, said)
	}
	return does
}

func TestCIRunsTheCommandsOfTheReadme(t *testing.T) {
	readme, does := read(t, "README.md"), parts(t)
	_, development, _ := strings.Cut(readme, "\n## Development\n\n")
	if command := does["test"]; command != "go test ./..." || !strings.HasPrefix(development, "    "+command+"\n\nruns all tests") {
		t.Errorf("the part test runs %q, which the README does not give", command)
	}
	_, try, _ := strings.Cut(readme, "\n## Try it\n")
	if commands := strings.Split(does["first_command"], "; "); len(commands) != 2 || !strings.HasPrefix(try, "\n    "+strings.Join(commands, "\n    ")+"\n\n") {
		t.Errorf("the part first_command runs %q, which is not what the README starts with", does["first_command"])
	}
}

func TestCIPartsAreDocumented(t *testing.T) {
	does, guide := parts(t), read(t, "CONTRIBUTING.md")
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(guide, -1) {
		documented[row[1]] = true
		if does[row[1]] == "" {
			t.Errorf("CONTRIBUTING.md has a part %s, .ci/run has none", row[1])
		}
	}
	for part := range does {
		if !documented[part] {
			t.Errorf("CONTRIBUTING.md lacks the part %s of .ci/run", part)
		}
	}
	if code, said := ci(t, "formt"); code != 2 || !strings.Contains(said, "unknown part formt; parts are: download format") {
		t.Errorf("an unknown part: exit code %d: %s", code, said)
	}
}

// What the workflow runs is what anybody can run, and nothing else.
func TestCIWorkflowRunsAllParts(t *testing.T) {
	var runs []string
	for line := range strings.Lines(read(t, ".github/workflows/ci.yml")) {
		if _, command, ok := strings.Cut(line, "run: "); ok {
			runs = append(runs, strings.TrimSpace(command))
		}
	}
	if len(runs) != 1 || runs[0] != ".ci/run" {
		t.Errorf("the workflow runs %q, want .ci/run alone", runs)
	}
}

// What the Dockerfile copies and builds is there, and each stage copies what an earlier one makes.
func TestDockerfile(t *testing.T) {
	made, from := map[string]string{}, regexp.MustCompile(`^FROM \S+(?: AS (\S+))?$`)
	stage, targets := "", 0
	for line := range strings.Lines(read(t, "Dockerfile")) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case from.MatchString(line):
			stage, targets = from.FindStringSubmatch(line)[1], targets+1
		case strings.HasPrefix(line, "COPY --from="):
			if built := made[strings.TrimPrefix(words[1], "--from=")]; built != words[2] {
				t.Errorf("%s: that stage builds %q", line, built)
			}
		case strings.HasPrefix(line, "COPY "):
			for _, path := range words[1 : len(words)-1] {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
		case strings.HasPrefix(line, "RUN ") && strings.Contains(line, " build "):
			dir := "."
			for i, word := range words {
				switch word {
				case "-C":
					dir = words[i+1]
				case "-o":
					made[stage] = words[i+1]
				}
			}
			list := exec.Command("go", "-C", dir, "list", "-f", "{{.Name}}", words[len(words)-1])
			list.Env = append(os.Environ(), "GOWORK=off")
			if out, err := list.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "main" {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		}
	}
	if targets != 4 || len(made) != 2 {
		t.Errorf("%d stages of which %d build something", targets, len(made))
	}
}
