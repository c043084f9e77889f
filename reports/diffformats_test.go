package reports_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// gatedDiff is the comparison of two reports, of which worse scores fail.
func gatedDiff(t *testing.T, base, new *reports.Report, options reports.DiffOptions) *reports.Comparison {
	c, err := reports.Diff(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	c.FailOn = reports.FailOnWorse
	for i := range c.Pairs {
		for d := range c.Pairs[i].Differences {
			c.Pairs[i].Differences[d].Gated = c.Pairs[i].Differences[d].Score
		}
	}
	return c
}

// worse is a comparison in which a configuration has a worse score and is slower.
func worse(t *testing.T) *reports.Comparison {
	base, new := coach(24), coach(24)
	for i := range new.scores {
		s := &new.scores[i]
		if s.Name == "close" && strings.HasPrefix(s.Run, "default/") && draw("worse", s.Run) < 0.6 {
			s.Value = 0
		}
	}
	for _, s := range new.signals {
		if s.Configuration == "default" {
			s.Elapsed *= 2 // which is not gated
		}
	}
	return gatedDiff(t, base.collect(), new.collect(), reports.DiffOptions{BaseName: "before", NewName: "after"})
}

func TestComparisonsHaveAllFormats(t *testing.T) {
	c := worse(t)
	c.Thresholds = judged(coach(1)).Thresholds
	all := everyFormat(t, c, reports.DiffTableNames, 100)
	checkFormats(t, "", all)
	for name, format := range map[string]string{"diff.comment.md": "comment", "diff.github.txt": "github", "diff.junit.xml": "junit", "diff.html": "html"} {
		pagetest.Golden(t, name, all[format])
	}
}

// A comment begins with what there is to say, and shows no table twice.
func TestCommentsAreShort(t *testing.T) {
	options := reports.DiffOptions{BaseConfiguration: "single-pass", NewConfiguration: "phased"}
	one := pagetest.Written(t, gatedDiff(t, coach(6).collect(), coach(6).collect(), options), page.Options{Format: "comment"})
	if strings.Contains(one, "<summary>Differences</summary>") || strings.Count(one, "| `cost_usd` ") != 1 || !strings.Contains(one, "\n### ") {
		t.Errorf("of one pair:\n%s", one)
	}
	if all := pagetest.Written(t, worse(t), page.Options{Format: "comment"}); !strings.Contains(all, "<summary>Differences</summary>") {
		t.Errorf("of all pairs, which are more than 20 rows:\n%s", all)
	}
	report := pagetest.Written(t, coach(2).collect(), page.Options{Format: "comment"})
	if _, rest, _ := strings.Cut(report, "\n"); !strings.HasPrefix(rest, "### `interview-coach` · 5 configurations") {
		t.Errorf("of a report without thresholds:\n%s", report)
	}
}

// The same records are the same bytes, in whatever order those of either side come.
func TestComparisonsDoNotDependOnTheOrderOfRecords(t *testing.T) {
	shuffled := func(seed uint64) *reports.Report {
		f := coach(6)
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		return f.collect()
	}
	options := reports.DiffOptions{BaseConfiguration: "single-pass", NewConfiguration: "phased"}
	want := everyFormat(t, gatedDiff(t, coach(6).collect(), coach(6).collect(), options), reports.DiffTableNames, 100)
	for seed := range uint64(5) {
		for name, got := range everyFormat(t, gatedDiff(t, shuffled(seed), shuffled(seed+100), options), reports.DiffTableNames, 100) {
			if got != want[name] {
				t.Errorf("%s depends on the order of the records:\n%s", name, pagetest.FirstDifference(got, want[name]))
			}
		}
	}
}

// Of the differences only gated ones fail; one that nobody can tell is no yes.
func TestComparisonsAreChecked(t *testing.T) {
	c := worse(t)
	root := checkJUnit(t, pagetest.Written(t, c, page.Options{Format: "junit"}))
	got := map[compare.Verdict]string{}
	for _, pair := range c.Pairs {
		for _, suite := range root.all("testsuite") {
			if suite.attr("name") != pair.Name {
				continue
			}
			for i, d := range pair.Differences {
				kind := suite.all("testcase")[i].Children[0].XMLName.Local
				verdict := d.Verdict
				if d.Verdict == compare.Worse && !d.Gated {
					verdict = "worse, not gated"
				}
				if before, ok := got[verdict]; ok && before != kind {
					t.Errorf("%s is %s and %s", verdict, before, kind)
				}
				got[verdict] = kind
			}
		}
	}
	if got[compare.Worse] != "failure" || got[compare.Same] != "system-out" || got["worse, not gated"] != "system-out" {
		t.Errorf("the verdicts are %v", got)
	}
	for format, want := range map[string]string{
		"comment": "### ❌ `close` of `default` is worse\n", "github": "::close of default is worse\n", "html": "❌ close of default is worse</p>",
	} {
		if text := pagetest.Written(t, c, page.Options{Format: format}); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", format, want, text[:min(len(text), 3000)])
		}
	}
	c.FailOn = reports.FailOnNothing
	if text := pagetest.Written(t, c, page.Options{Format: "junit"}); strings.Contains(text, "<failure") {
		t.Error("what is not to fail is a failure")
	}
	c.Unanswered = "half of it is missing"
	if text := pagetest.Written(t, c, page.Options{Format: "comment"}); !strings.Contains(text, "### ⚠ `half of it is missing`\n") {
		t.Errorf("the comment does not say that there is no answer:\n%s", text[:500])
	}
}

// F71 to F74, P18: comparisons obey names no more than reports do.
func TestNoComparisonObeysNames(t *testing.T) {
	for _, name := range evil {
		if strings.TrimSpace(name) == "" {
			continue
		}
		base, new := infested(name), infested(name)
		c := gatedDiff(t, base, new, reports.DiffOptions{
			BaseName: name, NewName: name, Spec: []reports.SpecDifference{{Path: name, Base: name, New: name}},
		})
		c.Thresholds = base.Thresholds
		c.Pairs[0].Flips = []reports.Flip{{Score: name, Task: name, BaseRuns: []string{name}, NewRuns: []string{name}}}
		checkFormats(t, name, everyFormat(t, c, reports.DiffTableNames, 80))
		c.Unanswered = name
		checkFormats(t, name, everyFormat(t, c, reports.DiffTableNames, 80))
	}
}
