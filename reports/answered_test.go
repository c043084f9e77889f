package reports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func TestF25_OtherModelsAreTold(t *testing.T) {
	for want, names := range map[string][]string{
		"": {"", "", ""},
		"1 of 3 calls of m were answered by another model, as the server calls it: n":                     {"", "n", ""},
		"3 of 3 calls of m were answered by another model, as the server calls it: n, o":                  {"o", "n", "o"},
		"6 of 6 calls of m were answered by another model, as the server calls it: 0, 1, 2, 3 and others": {"5", "4", "0", "2", "3", "1"},
	} {
		f := one(len(names))
		for i, name := range names {
			s := f.run(fmt.Sprint(i), 1, 0.5)
			s.Iterations[0].Calls[0].Model, s.Iterations[0].Calls[0].Answered = "m", name
		}
		r := f.collect()
		if got := warned(&r.Configurations[0], reports.OtherModel); strings.Join(got, "") != want || len(got) > 1 {
			t.Errorf("%q: warned of %q", names, got)
		}
		if text := pagetest.Written(t, r, page.Options{Width: 200}); strings.Contains(text, "answered by another model") != slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
			t.Errorf("the footnotes are\n%s", text)
		}
	}
}
