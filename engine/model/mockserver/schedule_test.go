package mockserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// met are the kinds that so many requests meet.
func met(o Options, requests int) string {
	var f faults
	f.reset(&o)
	var kinds []string
	for i := range requests {
		kinds = append(kinds, f.next(&chatRequest{hash: uint64(i)}).Kind)
	}
	return strings.Join(kinds, " ")
}

func TestSchedules(t *testing.T) {
	for text, want := range map[string]string{
		"ok,ok,429:retry-after=2,cut": "ok ok 429 cut ok ok ok",
		"500*2, ok, repeat":           "500 500 ok 500 500 ok 500",
		"hang":                        "hang ok ok ok ok ok ok",
	} {
		schedule, err := ParseSchedule(text)
		if got := met(Options{Schedule: schedule}, 7); err != nil || got != want {
			t.Errorf("%s: %s (%v)", text, got, err)
		}
	}
}

func TestFaultsByCount(t *testing.T) {
	for text, want := range map[string]string{
		"every=3:500":          "ok ok 500 ok ok 500",
		"first=2:cut":          "cut cut ok ok ok ok",
		"at=2:reset":           "ok reset ok ok ok ok",
		"quota":                "quota quota quota quota quota quota",
		"every=2:500 at=4:cut": "ok 500 ok 500 ok 500", // the first that is due
		"at=4:cut every=2:500": "ok 500 ok cut ok 500",
	} {
		var o Options
		for _, part := range strings.Fields(text) {
			rated, err := ParseRated(part)
			if err != nil {
				t.Fatal(err)
			}
			o.Faults = append(o.Faults, rated)
		}
		if got := met(o, 6); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestFaultsByShare(t *testing.T) {
	for _, share := range []float64{0.01, 0.3, 1} {
		rated, err := ParseRated(fmt.Sprintf("share=%v:500", share))
		if err != nil {
			t.Fatal(err)
		}
		n := float64(strings.Count(met(Options{Faults: []Rated{rated}}, 10_000), "500"))
		if n < 10_000*share*0.7 || n > 10_000*share*1.3 {
			t.Errorf("share %v: %v of 10000", share, n)
		}
	}
}

func TestTransientFaultsComeInTurn(t *testing.T) {
	rated, err := ParseRated("every=2:transient")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(strings.ReplaceAll(met(Options{Faults: []Rated{rated}}, 2*len(transients())), "ok ", ""))
	if !slices.Equal(got, transients()) || len(got) < 20 || slices.Contains(got, "401") || slices.Contains(got, "hang") {
		t.Errorf("got %v", got)
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":              `there is no fault ""`,
		"429:retry=2":   `the fault 429 has no option "retry", only retry-after`,
		"cut:by=2s":     `the fault cut has no option "by": it has none`,
		"hagn":          "did you mean hang?",
		"200":           `there is no fault "200"`,
		"slow:by=-2s":   "by is a duration",
		"huge:size=big": "is not a size",
		"huge:size=1PB": "is not a size",
		"429:form=days": "a form of Retry-After is one of",
		"500:body=png":  "body is one of api, html, empty",
		"every=0:500":   "want a number of at least 1",
		"share=1.5:500": "want a share above 0, at most 1",
		"share=NaN:500": "want a share above 0, at most 1",
		"often=2:500":   "says not when",
	} {
		if _, err := ParseRated(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, says := range map[string]string{"ok*0": "how often is a number", "ok,": `no fault ""`, "repeat": `no fault "repeat"`, "repeat,ok": `no fault "repeat"`} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzSchedules(f *testing.F) {
	f.Add("ok*2,429:retry-after=2:form=ms,cut,repeat")
	f.Add("slow:by=1s,huge:size=1KB")
	f.Fuzz(func(t *testing.T, text string) {
		schedule, err := ParseSchedule(text)
		if err == nil && (len(schedule.Steps) == 0 || slices.ContainsFunc(schedule.Steps, func(f Fault) bool { return f.kind == nil })) {
			t.Errorf("%+v", schedule)
		}
	})
}
