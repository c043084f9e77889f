package imports_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbench/agentbench/engine/propertytest"
)

var must = propertytest.Must

// logsVariable names a folder for logs of 100 MB, to measure the command on.
const logsVariable = "AGENTBENCH_LOGS"

// TestLogsToMeasure writes atif.jsonl, inspect.json and inspect.eval of 100 MB each, made of the examples in testdata,
// with runs of 60 model calls and 700 bytes of text for each result of a tool.
func TestLogsToMeasure(t *testing.T) {
	dir := os.Getenv(logsVariable)
	if dir == "" {
		t.Skip(logsVariable + " names no folder")
	}
	const size = 100e6
	lines, _ := longLog(t, "atif", size)
	samples, head := longLog(t, "inspect", size)
	must(t, errors.Join(os.WriteFile(filepath.Join(dir, "atif.jsonl"), append(bytes.Join(lines, []byte("\n")), '\n'), 0o600),
		os.WriteFile(filepath.Join(dir, "inspect.json"), slices.Concat(head, []byte(`,"samples":[`), bytes.Join(samples, []byte(",\n")), []byte("]}")), 0o600)))
	members := []member{{"header.json", append(head, '}'), zip.Deflate}}
	for i, sample := range samples {
		members = append(members, member{fmt.Sprintf("samples/%d_epoch_1.json", i), sample, zstd.ZipMethodWinZip})
	}
	must(t, os.Rename(zipped(t, "inspect.eval", members...), filepath.Join(dir, "inspect.eval")))
}

// longLog are long runs of a format, made of its example, and what stands before them in their document, unclosed.
func longLog(t testing.TB, format string, size int) (runs [][]byte, head []byte) {
	t.Helper()
	text, err := os.ReadFile("../../docs/import.md")
	must(t, err)
	words := string(text[2000:2700])
	var long map[string]any
	list, id := "steps", "session_id"
	if format == "atif" {
		long = decoded(t, "testdata/atif/v1.4.json")
		steps := long["steps"].([]any)
		results := steps[2].(map[string]any)["observation"].(map[string]any)["results"].([]any)
		results[0].(map[string]any)["content"], results[1].(map[string]any)["content"] = words, words
		long["steps"] = steps[:2]
		for range 30 {
			long["steps"] = append(long["steps"].([]any), steps[2], steps[3])
		}
		for i, s := range long["steps"].([]any) {
			s = maps.Clone(s.(map[string]any))
			s.(map[string]any)["step_id"] = i + 1
			long["steps"].([]any)[i] = s
		}
	} else {
		list, id = "events", "uuid"
		log := decoded(t, "testdata/inspect.json")
		long = log["samples"].([]any)[0].(map[string]any)
		events := long["events"].([]any)
		events[2].(map[string]any)["result"] = words
		long["events"] = []any{}
		for range 30 {
			long["events"] = append(long["events"].([]any), events[1], events[2], events[4])
		}
		if head, err = json.Marshal(map[string]any{"version": 2, "eval": log["eval"]}); err != nil {
			t.Fatal(err)
		}
		head = head[:len(head)-1]
	}
	if len(long[list].([]any)) < 60 {
		t.Fatal("a short run")
	}
	for written := 0; written < size; {
		long[id] = fmt.Sprint("run-", len(runs))
		if format == "inspect" {
			long["id"] = len(runs)
		}
		run, err := json.Marshal(long)
		must(t, err)
		runs, written = append(runs, run), written+len(run)
	}
	return runs, head
}

func decoded(t testing.TB, file string) (v map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(bytes.ReplaceAll(text, []byte("NaN"), []byte("null")), &v)
	}
	must(t, err)
	return v
}
