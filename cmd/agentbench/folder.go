package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// freshFolder is where the results of a suite go when the user does not say:
// results/quickstart-20260102-150405-1f3a.
func freshFolder(suite string, now time.Time) string {
	return filepath.Join("results", fileName(suite)+"-"+now.UTC().Format("20060102-150405")+"-"+randomDigits())
}

// fileName keeps what is safe in the name of a folder.
func fileName(name string) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}
	name = strings.Map(safe, name)
	return name[:min(len(name), 60)]
}

// randomDigits tell suites apart that start within the same second.
func randomDigits() string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// newFolder makes the folder that results go to, if it is not there.
func newFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(notMeasured, "name a folder that can be written to with --out", "making the result folder: %w", err)
	}
	return nil
}

// openManifest reads what a result folder is about, and warns of a manifest
// without a digest.
func (p *program) openManifest(dir string) (record.Manifest, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return record.Manifest{}, usage(fileHint(dir), "%s is a file, not a result folder", dir)
	}
	m, err := record.ReadManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, usage(resultsHint(dir), "%s holds no results", dir)
	case err != nil:
		return m, fail(notMeasured, manifestHint(dir, err), "%w", err)
	}
	if m.Unsealed && !p.unsealed[dir] {
		if p.unsealed == nil {
			p.unsealed = map[string]bool{}
		}
		p.unsealed[dir] = true
		fmt.Fprintf(p.err, "agentbench: warning: %s has no digest: damage to it would go unnoticed; agentbench repair %s adds one\n", filepath.Join(dir, "manifest.json"), shellWord(dir))
	}
	return m, nil
}

// resultFolder reports whether a folder is one of results: it has a manifest, or the
// copy of one that is missing.
func resultFolder(dir string) bool {
	return there(filepath.Join(dir, "manifest.json")) || there(filepath.Join(dir, "manifest.copy.json"))
}

// fileHint says what may have been meant by a file.
func fileHint(file string) string {
	folder := filepath.Dir(file)
	if resultFolder(folder) {
		return "did you mean " + folder + "?"
	}
	return resultsHint(folder)
}

// manifestHint says what to do about a manifest that cannot be read.
func manifestHint(dir string, err error) string {
	var damaged *record.DamagedManifest
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	unreadable := errors.As(err, &syntax) || errors.As(err, &kind)
	if errors.As(err, &damaged) || unreadable && there(filepath.Join(dir, "manifest.copy.json")) {
		return "agentbench repair " + shellWord(dir) + " restores it from its copy"
	}
	if unreadable {
		return "the runs stand in records.jsonl, one a line; run with another --out makes the suite again, and with the cache pays for little"
	}
	if errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "agentbench version tells which one this is"
}

// resultsHint names a result folder that may have been meant.
func resultsHint(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json")) // a hint only
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join("results", "*", "manifest.json"))
	}
	if len(found) == 0 {
		return "agentbench run SUITE makes some"
	}
	newest := found[0]
	for _, path := range found[1:] {
		if modified(path).After(modified(newest)) {
			newest = path
		}
	}
	return "the newest results are in " + filepath.Dir(newest)
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
