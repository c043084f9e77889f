package record

import "testing"

func TestHeadsSayWhereRecordsStand(t *testing.T) {
	dir := sampleFolder(t, 5)
	all, err := OpenRuns(dir)
	must(t, err)
	defer all.Close()
	n := 0
	for head, err := range all.Heads() {
		must(t, err)
		run, err := all.Read(head.At)
		if err != nil || run.ID != head.ID || run.Task != head.Task || run.Configuration != head.Configuration || run.Trial != head.Trial || len(run.Iterations) != head.Iterations {
			t.Errorf("%+v is the head of %+v, %v", head, run, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d heads, want 5", n)
	}
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
