package results

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Watched are results that somebody follows while they are made.
type Watched struct {
	Places []*Place

	mu     sync.Mutex
	stamp  string // of the newest manifest when its status was read
	status record.State
}

// stampOf tells a file from what it was before.
func stampOf(info fs.FileInfo, err error) string {
	if err != nil {
		return "-"
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), ";")
}

// Stamp changes when the results do.
func (w *Watched) Stamp() string {
	sum := sha256.New()
	for _, at := range w.Places {
		if at.Baseline() {
			fmt.Fprint(sum, stampOf(os.Stat(at.Path)))
			continue
		}
		for _, name := range []string{"manifest.json", "records.jsonl", "scores.jsonl"} {
			fmt.Fprint(sum, stampOf(os.Stat(filepath.Join(at.Path, name))))
		}
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:9])
}

// quietTime is how old the progress may be before State says that there is none.
const quietTime = 10 * time.Second

const mostProgress = 1 << 20 // bytes

// State is the status of the newest results, and the progress that their command reports.
func (w *Watched) State(now time.Time) (status record.State, progress []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.Places[len(w.Places)-1]
	if at.Baseline() {
		return record.StateComplete, []string{}
	}
	if stamp := stampOf(os.Stat(filepath.Join(at.Path, "manifest.json"))); w.stamp != stamp {
		m, err := record.ReadManifest(at.Path)
		if w.stamp, w.status = stamp, m.Status; err != nil {
			w.status = record.StateFailed
		}
	}
	path := filepath.Join(at.Path, Progress)
	info, err := os.Lstat(path)
	switch {
	case w.status != record.StateRunning || err != nil || !info.Mode().IsRegular() || info.Size() > mostProgress:
		return w.status, []string{}
	case now.Sub(info.ModTime()) > quietTime:
		return w.status, []string{"no progress since " + info.ModTime().Format(time.TimeOnly)}
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &progress) != nil || progress == nil {
		return w.status, []string{}
	}
	return w.status, progress
}

// KeepProgress writes how far the runs of a folder have come for those who follow. That it
// cannot be written fails nothing: they see an older one.
func KeepProgress(dir string, progress []string, redact func([]byte) []byte) {
	text, err := json.Marshal(progress)
	path := filepath.Join(dir, Progress)
	if err != nil {
		return
	}
	_ = os.Remove(path + ".tmp") // left by a crash
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	_, err = f.Write(redact(text))
	if errors.Join(err, f.Close()) == nil {
		_ = os.Rename(path+".tmp", path)
	}
}
