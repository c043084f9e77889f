package main

import (
	"context"
	"os"
	"path/filepath"
)

// holdsManifest says that a path is a result folder, or a file that openRecorded
// knows better than spec does.
func holdsManifest(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return there(filepath.Join(path, "manifest.json"))
	}
	return filepath.Ext(path) == ".jsonl"
}

// tuneSuite records a suite, and recommends from that.
func (p *program) tuneSuite(ctx context.Context, path string, f *tuneFlags) error {
	return p.tuneRecording(ctx, path, f)
}
