package imports_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
)

// endless is so many rows, made as they are read.
type endless struct {
	row  string
	left int
	rest io.Reader
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest != nil {
		if n, err := e.rest.Read(p); err == nil {
			return n, nil
		}
	}
	if e.left == 0 {
		return 0, io.EOF
	}
	e.left--
	e.rest = strings.NewReader(e.row)
	return e.rest.Read(p)
}

// TestMemoryIsFlat: of 64 MB of rows, in a list below a path and in lines, no
// more than a few are held.
func TestMemoryIsFlat(t *testing.T) {
	const rows = 256
	row := `{"id": "a", "q": "` + strings.Repeat("x", 256<<10) + `", "steps": [1]}`
	for _, c := range []struct{ file, begin, between string }{
		{"f.json", `{"doc": {"runs": [` + row, "," + row},
		{"f.jsonl", "", row + "\n"},
	} {
		each := ""
		if c.begin != "" {
			each = "each: doc.doc.runs\n"
		}
		im := imports.New(written(t, plain+each))
		log := io.MultiReader(strings.NewReader(c.begin), &endless{row: c.between, left: rows}, strings.NewReader(strings.Repeat("]}}", min(1, len(c.begin)))))
		before, n := held(), 0
		for _, err := range im.Read(c.file, log) {
			must(t, err)
			if n++; n%64 == 0 {
				if more := held() - before; more > 12<<20 {
					t.Errorf("%s: %d bytes more are held after %d rows", c.file, more, n)
				}
			}
		}
		if n < rows {
			t.Errorf("%s: %d rows", c.file, n)
		}
	}
}

func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
