package reports

import (
	"testing"

	"github.com/agentbench/agentbench/reports/page"
)

// A warning about runs has their filter, in which names are quoted; others have none.
func TestWarningsListTheirRuns(t *testing.T) {
	of := []string{page.Term("config", "a b")}
	for _, test := range []struct {
		Warning
		want string
	}{
		{Warning{Kind: Faults}, `config:%22a%20b%22%20status:fault`},
		{Warning{Kind: NotScored, Name: "x<1"}, `config:%22a%20b%22%20%21%22x%3C1%22%3E%3D0%20%21%22x%3C1%22%3C0%20%21status:fault`},
		{Warning{Kind: FewTasks}, ""},
	} {
		is := ""
		if about, ok := test.about("a b", of).(page.Listed); ok {
			_, is = about.Listed()
			test.want = "q=" + test.want
		}
		if is != test.want {
			t.Errorf("%s: %s, want %s", test.Kind, is, test.want)
		}
	}
}

// The runs of a baseline that is not on the page are not listed.
func TestRunsElsewhereAreNotListed(t *testing.T) {
	c := Comparison{}
	p := Pair{Base: PairSide{Where: "main", Configuration: "x"}, New: PairSide{Configuration: "x"}, Warnings: []Warning{{Kind: Faults, Side: "base"}, {Kind: Faults, Side: "new"}}}
	notes := c.notesOn(&p)
	if _, listed := notes[0].(page.Listed); listed {
		t.Error("the runs of the baseline are not here")
	}
	about, ok := notes[1].(page.Listed)
	if !ok {
		t.Fatal("the runs of the new side are here")
	}
	if of, fragment := about.Listed(); of != "new" || fragment != "q=config:x%20status:fault" {
		t.Errorf("runs of %s: %s", of, fragment)
	}
}
