package record

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestOfARunThatWasTriedAgainTheLastRecordIsRead(t *testing.T) {
	dir := sampleFolder(t, 0)
	j, _, err := Resume(dir, Options{Delay: soon})
	must(t, err)
	fault, again := sampleRun(1, 1), sampleRun(1, 2)
	fault.Outcome = Outcome{Status: Faulted, Error: &Error{Class: Server}}
	must(t, errors.Join(j.Append(fault, nil, nil), j.Append(again, nil, nil), j.Close()))
	all, err := OpenRuns(dir)
	must(t, err)
	defer all.Close()
	if got, err := all.Run(again.ID); err != nil || len(got.Iterations) != 2 {
		t.Errorf("read %+v, %v", got, err)
	}
	var heads []string
	for head, err := range all.Heads() {
		must(t, err)
		heads = append(heads, fmt.Sprint(head.ID, " ", head.Iterations, " ", head.Outcome.Returned))
	}
	if want := []string{again.ID + " 2 2"}; !slices.Equal(heads, want) {
		t.Errorf("the runs that count are %q, want %q", heads, want)
	}
}

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
