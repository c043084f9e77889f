package engine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// verdict is the text of all answers: of agents, and of judges.
const verdict = `{"confidence": 0.5, "passed": false}`

// spoken are answers of each protocol, by what an address ends in.
var spoken = map[string]string{
	"/chat/completions": `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
	"/responses":        `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":%q}]}],"usage":{"input_tokens":3,"output_tokens":2}}`,
	"/messages":         `{"type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`,
}

// overhears is a server of all protocols, and what it was sent.
func overhears(t *testing.T) (address string, sent *[]string) {
	t.Helper()
	sent = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, string(body))
		for end, form := range spoken {
			if strings.HasSuffix(r.URL.Path, end) {
				fmt.Fprintf(w, form, verdict)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, sent
}

// Models see the images of a task with its prompt, in each iteration that is a conversation of its own, and once where all are
// one; judges see them, too. The record names them, and a replay knows what was sent.
func TestImagesOfATaskAreShown(t *testing.T) {
	image := "\x89PNG\r\n\x1a\n a picture"
	encoded := base64.StdEncoding.EncodeToString([]byte(image))
	for _, provider := range []string{"openai", "openai_responses", "anthropic"} {
		for name, agent := range map[string]string{"alone": "{model: m}", "conversing": "{model: m, memory: {max_tokens: 100000}}"} {
			t.Run(provider+" "+name, func(t *testing.T) {
				address, sent := overhears(t)
				files := fstest.MapFS{
					"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: what is it, images: [cat.png]}]\nmodels: {m: {provider: " + provider + ", base_url: \"" + address + "/v1\", price: free}}\n" +
						"configurations: [{name: c, loop: l.yaml}]\nscorers: [{name: good, type: judge, model: m, rubric: r}]\n")},
					"l.yaml":  {Data: []byte("loop: l\nagent: " + agent + "\nprompt: \"{{ task.input }}\"\nevaluate: {judge: {model: m, rubric: r}}\nmax_iterations: 2\n")},
					"cat.png": {Data: []byte(image)},
				}
				doc, loops := built(t, files)
				task := onlyTask(t, doc)
				recorded := loops[0].Run(t.Context(), "r", task, 1, nil)
				if recorded.Outcome.Status != record.Completed || len(*sent) != 4 {
					t.Fatalf("%d requests, %+v", len(*sent), recorded.Outcome)
				}
				for _, body := range *sent {
					at := strings.Index(body, encoded)
					if strings.Count(body, encoded) != 1 || strings.Contains(body[:at], "assistant") {
						t.Errorf("sent %s", body)
					}
				}
				if want := []record.Image{{Name: "cat.png", SHA256: "e90cd45dddf4f620bb34251fba7e186400366f2b0e404cb4a28b9f07713f2e79"}}; !slices.Equal(recorded.Images, want) {
					t.Errorf("recorded %+v", recorded.Images)
				}
				if line, err := json.Marshal(recorded); err != nil || strings.Contains(string(line), encoded) || strings.Contains(string(line), "a picture") {
					t.Errorf("the record holds the image: %s, %v", line, err)
				}
				loop := doc.Suite.Resolved[0].Loop
				if result := Replay(loop, loop).Run(t.Context(), recorded, task); result.Label() != replay.PointExact {
					t.Errorf("replayed: %s", result.Label())
				}
				files["cat.png"] = &fstest.MapFile{Data: []byte(image + "!")}
				other, _ := built(t, files)
				if result := Replay(loop, loop).Run(t.Context(), recorded, onlyTask(t, other)); result.Label() != replay.NeedsCalls {
					t.Errorf("replayed with another image: %s", result.Label())
				}
			})
		}
	}
}

// A program gets the paths of images; what identifies its request is the same wherever they are.
func TestProgramsGetThePathsOfImages(t *testing.T) {
	requests := map[string]bool{}
	for _, dir := range []string{t.TempDir(), t.TempDir()} {
		for name, text := range map[string]string{
			"s.yaml":       "suite: s\ntasks: [{id: t, input: x, images: [pics/cat.png, 'data:image/gif;base64,R0lGODlh']}]\nconfigurations: [{name: c, loop: l.yaml}]\n",
			"l.yaml":       "loop: l\nagent: {command: [cat], reply: json}\nmax_iterations: 1\n",
			"pics/cat.png": "\x89PNG\r\n\x1a\n a picture",
		} {
			file := filepath.Join(dir, name)
			must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, []byte(text), 0o600))
		}
		doc, faults := spec.Load(filepath.Join(dir, "s.yaml"), spec.Options{})
		must(t, faults.Err())
		loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: nothing})
		must(t, err)
		task := onlyTask(t, doc)
		run := loops[0].Run(t.Context(), "r", task, 1, nil)
		var read struct {
			Task struct{ Images []string }
		}
		want := []string{filepath.Join(dir, "pics", "cat.png"), "data:image/gif;base64,R0lGODlh"}
		if err := json.Unmarshal(run.Output(), &read); err != nil || !slices.Equal(read.Task.Images, want) {
			t.Errorf("the program reads %s, %v", run.Output(), err)
		}
		requests[run.Iterations[0].Request] = true
	}
	if len(requests) != 1 {
		t.Errorf("the same images in another folder are another request: %v", requests)
	}
}
