package spec

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func ids(t interface {
	Helper()
	Fatal(...any)
}, d *Document) (all []string) {
	for task, err := range d.Tasks() {
		must(t, err)
		all = append(all, task.ID)
	}
	return all
}

// sameTasks are n tasks in every form that tasks may have: what stands under tasks of a suite, and the files.
func sameTasks(n int) map[string][]string {
	var lines, table, list, flow strings.Builder
	texts, folders := []string{}, []string{}
	table.WriteString("id,input,metadata.level\n")
	for i := range n {
		fmt.Fprintf(&lines, "{\"id\": \"t%02d\", \"input\": \"ü%d\", \"metadata\": {\"level\": \"%d\"}}\r\n\n", i, i, i%3)
		fmt.Fprintf(&table, "t%02d,\"ü%d\",%d\n\n", i, i, i%3)
		fmt.Fprintf(&list, "- {id: t%02d, input: ü%d, metadata: {level: \"%d\"}}\n", i, i, i%3)
		fmt.Fprintf(&flow, "{id: t%02d, input: ü%d, metadata: {level: \"%d\"}}, ", i, i, i%3)
		texts = append(texts, fmt.Sprintf("c/t%02d.txt", i), fmt.Sprint("ü", i))
		folders = append(folders, fmt.Sprintf("f/t%02d/task.yaml", i), fmt.Sprintf("input: ü%d\n", i))
	}
	return map[string][]string{
		"files: [t.jsonl]":              {"t.jsonl", "\ufeff" + lines.String()},
		"files: [t.jsonl.gz]":           {"t.jsonl.gz", gzipped(lines.String())},
		"files: [t.jsonl], each: doc":   {"t.jsonl", lines.String()},
		"files: [t.csv]":                {"t.csv", "\ufeff" + table.String()},
		"files: [t.csv.gz]":             {"t.csv.gz", gzipped(table.String())},
		"files: [t.yaml]":               {"t.yaml", list.String()},
		"list: [" + flow.String() + "]": nil,
		"files: [c/]":                   texts,
		"files: [c/], id: string(row.stem), input: row.text": texts,
		"folders: f/*":              folders,
		`folders: f/, input: '"x"'`: folders,
	}
}

// Which tasks are drawn, and their order, depends on their ids and the seed, and on nothing else; what is read out of
// order is what is read in order.
func TestDrawingIsTheSameForEveryForm(t *testing.T) {
	for keys, want := range map[string]string{
		"limit: 3":                                   "[t00 t01 t02]",
		"shuffle: false, limit: 2":                   "[t00 t01]",
		"shuffle: true, limit: 4":                    "",
		"shuffle: 7, limit: 4":                       "",
		"shuffle: 7":                                 "",
		"sample: {n: 4}":                             "",
		"sample: {n: 4, seed: 7}":                    "",
		"sample: {share: 0.25}, shuffle: 7":          "",
		"sample: {n: 5}, shuffle: true, limit: 3":    "",
		"where: 'task.id > \"t03\"', limit: 2":       "[t04 t05]",
		"where: 'task.id > \"t03\"', sample: {n: 3}": "",
	} {
		for tasks, files := range sameTasks(12) {
			d := suiteWithTasks(t, "{"+tasks+", "+keys+"}", append(files, "x", "")...)
			got := ids(t, d)
			if want == "" {
				want = fmt.Sprint(got)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s of %.20s: %v, want %s", keys, tasks, got, want)
			}
			for task, err := range d.Tasks() {
				if input := strings.TrimLeft(task.ID[1:], "0"); err != nil || task.Input != "ü"+input && task.Input != "ü0" {
					t.Errorf("%s of %.20s: %s is %v, %v", keys, tasks, task.ID, task.Input, err)
				}
			}
			if n, faults := d.CountTasks(); n != len(got) || len(faults) > 0 {
				t.Errorf("%s of %.20s: %d tasks of %d, %v", keys, tasks, n, len(got), faults)
			}
		}
	}
}

// The orders are written down: who has the same seed has the same tasks, in every version and on every machine.
func TestOrdersAreForEver(t *testing.T) {
	lines := sameTasks(12)["files: [t.jsonl]"]
	for keys, want := range map[string]string{
		"shuffle: 7":              "t04 t07 t01 t02 t03 t11 t08 t06 t09 t10 t00 t05",
		"shuffle: true":           "t00 t04 t07 t02 t06 t05 t11 t09 t10 t08 t01 t03",
		"sample: {n: 4}":          "t00 t04 t05 t07",
		"sample: {n: 4, seed: 7}": "t00 t07 t08 t09",
		// a limit comes last
		"shuffle: 7, limit: 4":                              "t04 t07 t01 t02",
		"sample: {n: 4, seed: 7}, limit: 2":                 "t00 t07",
		"sample: {n: 4}, shuffle: 7, limit: 2":              "t04 t07",
		"where: 'task.id != \"t07\"', shuffle: 7, limit: 2": "t04 t01",
	} {
		expect.Equal(t, keys, strings.Join(ids(t, suiteWithTasks(t, "{files: [t.jsonl], "+keys+"}", lines...)), " "), want)
	}
}

func TestStrata(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		level := map[bool]string{true: "hard", false: "easy"}[i%10 == 0]
		fmt.Fprintf(&lines, "{\"id\": \"t%d\", \"input\": 1, \"metadata\": {\"level\": \"%s\"}}\n", i, level)
	}
	lines.WriteString("{\"id\": \"alone\", \"input\": 1, \"metadata\": {\"level\": \"odd\"}}\n")
	for keys, want := range map[string]string{
		"{by: task.metadata.level, n: 3}":      `map[easy:3 hard:3 odd:1] [the stratum "odd" has 1 of the 3 tasks that are to be drawn]`,
		"{by: task.metadata.level, share: .2}": `map[easy:18 hard:2] [the stratum "odd" has too few tasks for a share of 0.2: 1, of which none is drawn]`,
		"{by: row.metadata.level, share: 1}":   `map[easy:90 hard:10 odd:1] []`,
		"{n: 200}":                             `map[easy:90 hard:10 odd:1] [there are 101 of the 200 tasks that are to be drawn]`,
		"{by: task.id, n: 2}": `map[easy:90 hard:10 odd:1] [the stratum "alone" has 1 of the 2 tasks that are to be drawn ` +
			`the stratum "t0" has 1 of the 2 tasks that are to be drawn the stratum "t1" has 1 of the 2 tasks that are to be drawn ` +
			`the stratum "t10" has 1 of the 2 tasks that are to be drawn the stratum "t11" has 1 of the 2 tasks that are to be drawn and so have 96 other strata]`,
	} {
		d := suiteWithTasks(t, "{files: [t.jsonl], sample: "+keys+"}", "t.jsonl", lines.String())
		levels := map[string]int{}
		for task := range d.Tasks() {
			level, _ := TaskFields{task}.Field("metadata").(interface{ Get(string) (any, bool) }).Get("level")
			levels[level.(string)]++
		}
		_, faults := d.CountTasks()
		said := []string{}
		for _, f := range faults {
			said = append(said, f.What)
		}
		if got := fmt.Sprint(levels, " ", said); got != want || faults.Err() != nil {
			t.Errorf("%s:\n got %s\nwant %s", keys, got, want)
		}
	}
}

// A share of every stratum is within one task of it, and of all together as near as can be.
func TestSharesAreProportional(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 8).Draw(t, "sizes")
		share := rapid.Float64Range(0.01, 1).Draw(t, "share")
		all, stratum := 0, map[string]int{}
		for i, size := range sizes {
			stratum[fmt.Sprint(i)], all = size, all+size
		}
		sum := 0
		for name, quota := range (&Sample{Share: share}).quotas(stratum, all) {
			if exact := share * float64(stratum[name]); float64(quota) <= exact-1 || float64(quota) >= exact+1 || quota > stratum[name] {
				t.Fatalf("%d of %d at %v", quota, stratum[name], share)
			}
			sum += quota
		}
		if exact := share * float64(all); float64(sum) < exact-0.5001 || float64(sum) > exact+0.5001 {
			t.Fatalf("%d in all, want %v", sum, exact)
		}
	})
}

// Several may read the tasks at the same time.
func TestShuffledTasksAreReadAtTheSameTime(t *testing.T) {
	d := suiteWithTasks(t, "{files: [t.csv.gz], shuffle: 3}", sameTasks(50)["files: [t.csv.gz]"]...)
	got := make([]string, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = fmt.Sprint(ids(t, d)) })
	}
	all.Wait()
	if slices.Sort(got); got[0] != got[7] || strings.Count(got[0], "t") != 50 {
		t.Errorf("%v", got)
	}
}

// A task that cannot be read is told whatever is drawn, and does not keep the others from being read.
func TestFaultsOfTasksThatAreDrawn(t *testing.T) {
	for _, keys := range []string{"shuffle: true", "sample: {n: 2}"} {
		d := suiteWithTasks(t, "{files: [t.jsonl], "+keys+"}", "t.jsonl", "{\"id\": \"a\", \"input\": 1}\nx\n{\"id\": \"b\", \"input\": 1}\n")
		tasks, faults := 0, 0
		for _, err := range d.Tasks() {
			if err != nil {
				faults++
			} else {
				tasks++
			}
		}
		if tasks != 2 || faults != 1 {
			t.Errorf("%s: %d tasks and %d faults", keys, tasks, faults)
		}
	}
}
