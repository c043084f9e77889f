package spec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/agentbench/agentbench/spec/expr"
)

// duckdbFile was written by DuckDB 1.5.6: copy (select ...) to 'duckdb.parquet' (format parquet, compression zstd).
func duckdbFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/duckdb.parquet")
	must(t, err)
	return string(text)
}

// Numbers that JSON does not have: what is not a number is missing, what is infinite is a text.
func TestParquetOfNoNumbers(t *testing.T) {
	type numbers struct {
		ID    string    `parquet:"id"`
		Input []float64 `parquet:"input,list"`
		Small float32   `parquet:"target"`
	}
	var text bytes.Buffer
	w := parquet.NewGenericWriter[numbers](&text)
	_, err := w.Write([]numbers{{"a", []float64{1, math.NaN(), math.Inf(1), math.Inf(-1)}, float32(math.NaN())}})
	must(t, errors.Join(err, w.Close()))
	for task, err := range suiteWithTasks(t, "{files: [t.parquet]}", "t.parquet", text.String()).Tasks() {
		must(t, err)
		got, err := expr.AppendJSON(nil, []any{task.Input, task.Target})
		if want := `[[1,null,"+Inf","-Inf"],null]`; err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

// Rows of a file that another program wrote, with every kind of column: nested ones, lists, maps, times, decimals.
func TestParquetOfAnotherWriter(t *testing.T) {
	d := suiteWithTasks(t, "{files: [t.parquet], id: string(int(row.id)), input: row}", "t.parquet", duckdbFile(t))
	var got []string
	for task, err := range d.Tasks() {
		must(t, err)
		text, err := expr.AppendJSON(nil, task.Input)
		must(t, err)
		got = append(got, task.ID+" "+string(text))
	}
	row := func(id int, weight string, even bool, choices string) string {
		return fmt.Sprintf(`%d {"id":%d,"question":"What is %d + 1?","answer":"%d","weight":%s,"even":%v,"choices":%s,`+
			`"meta":{"lang":"en","level":%d,"tags":["x",null]},"messages":[{"role":"user","content":"hi %d"},{"role":"assistant","content":null}],`+
			`"extra":{"k%d":%d,"z":null},"seen":"2026-11-24T%d:00:00Z","day":"2026-11-%02d","price":%v,"raw":"AP8=",`+
			`"note":"00000000-0000-0000-0000-00000000000%d","big":%d000000000000,"small":%d,"ubig":%d}`,
			id, id, id, id+1, weight, even, choices, id, id, id, id, 10+id, 1+id, 1.25*float64(id), id, id, id, id)
	}
	want := []string{
		row(1, "0.5", false, `["a1","b1"]`), row(2, "1", true, "null"), row(3, "null", false, "[]"),
		row(4, "2", true, `["a4","b4"]`), row(5, "2.5", false, `["a5","b5"]`),
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("got  %s\nwant %s", got[min(i, len(got)-1)], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows", len(got))
	}
}

type asked struct {
	ID    string   `parquet:"id"`
	Input string   `parquet:"input"`
	Tags  []string `parquet:"tags,list"`
}

// mappedParquet are its tasks.
const mappedParquet = "{files: [t.parquet], id: string(row.id), input: row.input}"

// manyRows is a file of n rows in groups of so many.
func manyRows(t testing.TB, n, group int) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[asked](&out, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(int64(group)))
	rows := make([]asked, 0, 1000)
	for i := range n {
		rows = append(rows, asked{fmt.Sprint(i), strings.Repeat("x", 50) + fmt.Sprint(i), []string{"a", fmt.Sprint(i % 7)}})
		if len(rows) == cap(rows) || i == n-1 {
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			rows = rows[:0]
		}
	}
	must(t, w.Close())
	return out.String()
}

// Rows drawn at random are found by their number, over the bounds of row groups and pages.
func TestParquetRowsAreDrawn(t *testing.T) {
	text := manyRows(t, 2500, 700)
	d := suiteWithTasks(t, "{files: [t.parquet], id: string(row.id), input: row.input, shuffle: true, limit: 300}", "t.parquet", text)
	seen := map[string]bool{}
	for task, err := range d.Tasks() {
		must(t, err)
		if input := task.Input.(string); !strings.HasSuffix(input, "x"+task.ID) {
			t.Fatalf("task %s has the input %s", task.ID, input)
		}
		seen[task.ID] = true
	}
	if len(seen) != 300 {
		t.Errorf("%d tasks", len(seen))
	}
	whole := suiteWithTasks(t, mappedParquet, "t.parquet", text)
	if n, faults := whole.CountTasks(); n != 2500 || len(faults) > 0 {
		t.Errorf("%d tasks, %v", n, faults)
	}
	gathered := suiteWithTasks(t, "{files: [t.parquet], each: 'doc.filter(r, r.tags[1] == \"3\")', id: string(row.id), input: row.input}", "t.parquet", text)
	if n, faults := gathered.CountTasks(); n != 357 || len(faults) > 0 {
		t.Errorf("%d tasks with a tag, %v", n, faults)
	}
}

// What is no whole Parquet file is one error that names the file; no damage makes a panic or takes much memory.
func TestParquetFilesThatAreDamaged(t *testing.T) {
	whole := manyRows(t, 300, 100)
	for name, c := range map[string]struct{ file, text, want string }{
		"empty":          {"t.parquet", "", "t.parquet is not a whole Parquet file"},
		"cut in half":    {"t.parquet", whole[:len(whole)/2], "t.parquet is not a whole Parquet file"},
		"another format": {"t.parquet", strings.Repeat(`{"id": 1}`+"\n", 10), "t.parquet is not a whole Parquet file"},
		"no end":         {"t.parquet", whole[:len(whole)-1], "t.parquet is not a whole Parquet file"},
		"a hole":         {"t.parquet", whole[:200] + strings.Repeat("\x00", 400) + whole[600:], "t.parquet is not a whole Parquet file"},
		"packed":         {"t.parquet.gz", whole, "t.parquet.gz is packed"},
	} {
		d := suiteWithTasks(t, c.file, c.file, c.text)
		_, faults := d.CountTasks()
		if len(faults) != 1 || !strings.Contains(faults.Error(), c.want) {
			t.Errorf("%s: %v", name, faults)
		}
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := []byte(whole)
		for range 1 + chance.IntN(4) {
			text[chance.IntN(len(text))] ^= byte(1 << chance.IntN(8))
		}
		d := suiteWithTasks(t, mappedParquet, "t.parquet", string(text))
		_, _ = d.CountTasks()
	}
}
