package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
)

// What is no page yet is a page that says so, in the browser that follows it.
func TestViewOfResultsThatAreNoPageYet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now, secrets: secret.New()}
	v := &viewing{program: p, args: []string{dir}, flags: &pageFlags{}, places: []*results.Place{{Text: dir, Results: &record.Results{Path: dir}}}, reading: &sync.Mutex{}, heads: make([]head, 1)}
	var page bytes.Buffer
	if err := v.Write(&page); err != nil || !strings.Contains(page.String(), "There is nothing to show yet") {
		t.Errorf("%v: %.300s", err, page.String())
	}
}
