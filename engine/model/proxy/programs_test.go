package proxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Coding agents that are installed: two runs of each ask the same, as the rules of its program read it.
func TestTwoRunsOfAProgramAskTheSame(t *testing.T) {
	t.Parallel()
	for program, c := range map[string]struct {
		variable, tool, arguments string
		argv                      func(path func(string) string, address string) []string
	}{
		"codex": {"AGENTBENCH_CODEX", "exec_command", `{"cmd":"sleep 0.3; echo hi > a.txt; ls"}`, func(path func(string) string, address string) []string {
			return []string{
				path("codex"), "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-c", "analytics.enabled=false", "-c", "model_provider=x", "-c", "model=m",
				"-c", `model_providers.x={name="x",base_url="` + address + `/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`, "make a.txt",
			}
		}},
		"qwen": {"AGENTBENCH_QWEN", "run_shell_command", `{"command":"sleep 0.3; echo hi > a.txt; ls","is_background":false}`, func(path func(string) string, _ string) []string {
			return []string{path("qwen"), "--auth-type", "openai", "--approval-mode", "yolo", "-p", "make a.txt"}
		}},
	} {
		t.Run(program, func(t *testing.T) {
			dir := os.Getenv(c.variable)
			if _, err := exec.LookPath("node"); err != nil || dir == "" || testing.Short() {
				t.Skipf("install node, and set %s to the folder in which npm installed the program", c.variable)
			}
			path := func(name string) string { return filepath.Join(dir, "node_modules", ".bin", name) }
			script := &offline.Script{Name: "coder", Conversations: source.Named[spec.Replies]{
				{Key: "main", Value: spec.Replies{{ToolCalls: []spec.AnswerCall{{Name: c.tool, Arguments: c.arguments}}}, {Text: "done"}}},
				{Key: "side", Value: spec.Replies{{Text: "a"}, {Text: "b"}, {Text: "c"}}},
			}}
			var runs [2][]record.Call
			t.Run("runs", func(t *testing.T) {
				for i := range runs {
					t.Run(fmt.Sprint(i+1), func(t *testing.T) {
						t.Parallel()
						dir := t.TempDir() // qwen tells where one is from the other
						home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
						must(t, errors.Join(os.MkdirAll(filepath.Join(home, ".qwen"), 0o755), os.Mkdir(work, 0o755)))
						must(t, os.WriteFile(filepath.Join(home, ".qwen", "settings.json"), []byte(`{"privacy": {"usageStatisticsEnabled": false}}`), 0o600))
						s := opened(t, Run{Models: named(&Model{Name: "coder", Model: mockserver.Speaking(script, time.Now)}), Own: []string{work, home}})
						argv := c.argv(path, s.BaseURL)
						started := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
						started.Dir = work
						started.Env = append(s.Env(), "PATH="+os.Getenv("PATH"), "HOME="+home, "CODEX_HOME="+home, "OPENAI_MODEL=m", "QWEN_CODE_NO_RELAUNCH=true")
						if told, err := started.CombinedOutput(); err != nil {
							t.Fatalf("%v: %s", err, told)
						}
						if text, _ := os.ReadFile(filepath.Join(work, "a.txt")); strings.TrimSpace(string(text)) != "hi" {
							t.Errorf("it wrote %q", text)
						}
						runs[i] = s.Calls()
					})
				}
			})
			if len(runs[0]) < 2 || len(runs[0]) != len(runs[1]) {
				t.Fatalf("%d calls, then %d", len(runs[0]), len(runs[1]))
			}
			for i, one := range runs[0] {
				if two := runs[1][i]; one.Request != two.Request || one.Kind != two.Kind || one.Conversation != two.Conversation {
					t.Errorf("call %d: %s %s %s, then %s %s %s", i+1, one.Conversation, one.Kind, one.Request, two.Conversation, two.Kind, two.Request)
				}
			}
		})
	}
}
