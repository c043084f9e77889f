package temporal

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	jobs "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentbench/agentbench/engine/exit"
)

// section is a part of docs/ci.md.
func section(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/ci.md")
	check(t, err)
	_, after, found := strings.Cut(string(text), "\n### "+title+"\n")
	if !found {
		t.Fatalf("there is no section %q", title)
	}
	within, _, _ := strings.Cut(after, "\n##")
	return within
}

// commands are the lines of the indented or fenced blocks of a section.
func commands(section string) (lines []string) {
	fenced := false
	for line := range strings.Lines(section) {
		command, indented := strings.CutPrefix(line, "    ")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if fenced || indented {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	return lines
}

// What the documentation says to type on one machine works as it stands, and so does what it has in
// place of tune SUITE. The program is the one that its first line has built; a few tasks are enough.
func TestTryItOnOneMachine(t *testing.T) {
	t.Parallel()
	given := commands(section(t, "Try it on one machine"))
	starts := []string{installCommand, "go install github.com/temporalio/cli/cmd/temporal@" + cliVersion, serverCommand + " --db-filename temporal.db"}
	if len(given) != 5 || !slices.Equal(given[:3], starts) {
		t.Fatalf("it begins with %q; the tests with %q", given, starts)
	}
	tunes := commands(section(t, "What stays on one machine"))
	if len(tunes) != 3 {
		t.Fatalf("%d commands: %q", len(tunes), tunes)
	}
	s := newSite(t, sharedServer, map[string]string{"empty": ""})
	s.env = append(s.env, "TEMPORAL_ADDRESS="+s.Address)
	typed := func(line string, more ...string) *exec.Cmd {
		return s.command(append(strings.Fields(line)[1:], more...)...)
	}
	s.begin(typed(given[3]))
	for _, line := range append(given[4:], append([]string{"agentbench-temporal report results/first"}, tunes...)...) {
		c := typed(line)
		if c.Args[1] == "run" {
			c = typed(line, "--limit", "6")
		}
		out, err := c.CombinedOutput()
		if no, ok := errors.AsType[*exec.ExitError](err); ok && no.ExitCode() == exit.AnswerNo {
			err = nil // of a few tasks nothing is proven
		}
		if err != nil || len(out) == 0 || c.Args[1] == "tune" && !bytes.Contains(out, []byte("max_iterations")) {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
}

// What the documentation says of a release leaves a module that go install takes: one without a
// replace, that requires the version of agentbench that its own tag has.
func TestAReleaseRequiresTheTaggedVersion(t *testing.T) {
	given := commands(section(t, "The module"))
	const edits = "go -C engine/temporal mod edit "
	if len(given) != 5 || !strings.HasPrefix(given[1], edits) || !strings.HasPrefix(given[4], "git tag engine/temporal/") {
		t.Fatalf("%d commands: %q", len(given), given)
	}
	text, err := os.ReadFile("go.mod")
	check(t, err)
	dir := t.TempDir()
	at := filepath.Join(dir, "engine/temporal/go.mod")
	check(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o644)))
	edit := exec.Command("go", strings.Fields(given[1])[1:]...)
	edit.Dir, edit.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err = os.ReadFile(at)
	version := strings.TrimPrefix(given[4], "git tag engine/temporal/")
	if err != nil || bytes.Contains(text, []byte("\nreplace ")) || !bytes.Contains(text, []byte("\tgithub.com/agentbench/agentbench "+version+"\n")) {
		t.Errorf("a release has %s; %v", text, err)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// pods are those of the manifests that the documentation has, by their kinds. What Kubernetes
// would not know is an error.
func pods(t *testing.T) map[string]core.PodTemplateSpec {
	t.Helper()
	found := map[string]core.PodTemplateSpec{}
	for _, block := range yamlBlock.FindAllStringSubmatch(section(t, "Workers on Kubernetes"), -1) {
		var kind struct{ APIVersion, Kind string }
		check(t, yaml.Unmarshal([]byte(block[1]), &kind))
		switch kind.APIVersion + " " + kind.Kind {
		case "apps/v1 Deployment":
			var d apps.Deployment
			check(t, yaml.UnmarshalStrict([]byte(block[1]), &d))
			for label, value := range d.Spec.Selector.MatchLabels {
				if d.Spec.Template.Labels[label] != value {
					t.Errorf("%s selects other pods than its own", d.Name)
				}
			}
			found[kind.Kind] = d.Spec.Template
		case "batch/v1 Job":
			var j jobs.Job
			check(t, yaml.UnmarshalStrict([]byte(block[1]), &j))
			if policy := j.Spec.Template.Spec.RestartPolicy; policy != core.RestartPolicyOnFailure && policy != core.RestartPolicyNever {
				t.Errorf("a Job must not have the policy %q", policy)
			}
			found[kind.Kind] = j.Spec.Template
		default:
			t.Errorf("%s %s: its validity is not tested", kind.APIVersion, kind.Kind)
		}
	}
	return found
}

// The manifests of the documentation are valid, and start the program with flags that it has.
func TestManifests(t *testing.T) {
	path := itself(t)
	found := pods(t)
	if len(found) != 2 {
		t.Fatalf("%d manifests", len(found))
	}
	for kind, pod := range found {
		volumes := map[string]bool{}
		for i := range pod.Spec.Volumes {
			volumes[pod.Spec.Volumes[i].Name] = true
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if out, err := exec.Command(path, append(c.Args, "--help")...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("agentbench "+c.Args[0])) {
				t.Errorf("%s: %q: %v: %s", kind, c.Args, err, out)
			}
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s mounts %s, which is no volume", kind, m.Name)
				}
			}
		}
	}
	worker := found["Deployment"].Spec
	args := worker.Containers[0].Args
	grace, err := time.ParseDuration(args[len(args)-1])
	if err != nil || args[len(args)-2] != "--grace" || worker.TerminationGracePeriodSeconds == nil || time.Duration(*worker.TerminationGracePeriodSeconds)*time.Second < grace+10*time.Second {
		t.Errorf("a worker is killed before its runs had their grace: %q, %v", args, err)
	}
}

// The flags in the documentation are those of the commands that it names.
func TestFlagsOfTheDocs(t *testing.T) {
	path := itself(t)
	help := map[string]string{}
	for _, command := range []string{"run", "worker"} {
		out, err := exec.Command(path, command, "--help").CombinedOutput()
		check(t, err)
		help[command] = string(out)
	}
	rows := 0
	for line := range strings.Lines(section(t, "Try it on one machine")) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `--") {
			continue
		}
		rows++
		for _, flag := range regexp.MustCompile("--[a-z-]+").FindAllString(cells[0], -1) {
			for command, text := range help {
				named := strings.Contains(cells[1], command) || strings.Contains(cells[1], "both")
				if has := regexp.MustCompile(flag + `\b`).MatchString(text); named && !has {
					t.Errorf("%s has no flag %s", command, flag)
				}
			}
		}
	}
	if rows < 8 {
		t.Errorf("%d rows of flags", rows)
	}
}
