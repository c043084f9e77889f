package spec

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// A suite whose sets are made of one another over and over is checked within seconds.
func TestSetsOfManyParts(t *testing.T) {
	suite := func(sets, each int) string {
		var text strings.Builder
		text.WriteString("suite: s\ntasks: [{input: a, target: b}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\nscorers:\n  - {name: s0, type: command, command: [sh], score: every_iteration}\n")
		for i := 1; i <= sets; i++ {
			fmt.Fprintf(&text, "  - {name: s%d, type: all_of, score: every_iteration, scorers: [s%d", i, i-1)
			for j := 2; j <= min(each, i); j++ {
				fmt.Fprintf(&text, ", s%d", i-j)
			}
			text.WriteString("]}\n")
		}
		return text.String()
	}
	for _, c := range []struct {
		sets, each int
		want       string
	}{
		{500, 2, ""},
		{600, 600, "the sets of a suite may have 1000 parts together"},
	} {
		began := time.Now()
		files := fstest.MapFS{"suite.yaml": {Data: []byte(suite(c.sets, c.each))}, "l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")}}
		if got := printed(check(files)); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d sets of %d: %s", c.sets, c.each, got)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%d sets of %d took %v", c.sets, c.each, took)
		}
	}
}
