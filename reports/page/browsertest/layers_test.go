package browsertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// eachReport opens all kinds of pages at their report, with all details open.
func eachReport(t *testing.T, use func(name string, b *tab)) {
	t.Helper()
	opened := map[string]func() *tab{"view": func() *tab {
		b := enter(t, viewed(t, usual().folder(t)), "", "")
		b.wait(ready)
		return b
	}}
	for name, file := range browsed(t) {
		opened[name] = func() *tab { return open(t, file, "") }
	}
	for name, file := range plainPages(t) {
		opened[name] = func() *tab { return openPlain(t, file) }
	}
	for _, name := range slices.Sorted(maps.Keys(opened)) {
		b := opened[name]()
		b.run(`document.querySelectorAll("details").forEach((it) => { it.open = true })`)
		use(name, b)
	}
}

// Reports of all kinds are accessible, with charts, tables and notes, in both themes.
func TestEveryReportIsAccessible(t *testing.T) {
	script := axe(t)
	eachReport(t, func(name string, b *tab) {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.accessible(script, scheme+" "+name)
		}
	})
}

// No report is wider than a small window.
func TestEveryReportIsNarrow(t *testing.T) {
	eachReport(t, func(name string, b *tab) {
		for _, width := range []int64{320, 1600} {
			b.sized(width)
			if wide := b.number("document.documentElement.scrollWidth"); wide > float64(width) {
				t.Errorf("%s at %d pixels is %v wide", name, width, wide)
			}
		}
	})
}

// texts are those of the report, by section.
func (b *tab) texts() (all map[string]string) {
	b.t.Helper()
	text := b.text(`JSON.stringify(Object.fromEntries([...document.querySelectorAll("header, section[id]")].map((it) => [it.id || "header", it.textContent])))`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// Where scripts are forbidden, the report has the same texts, charts and numbers, and nothing else is there.
func TestWithoutScriptsThePageIsItsReport(t *testing.T) {
	for name, file := range browsed(t) {
		want := open(t, file, "").texts()
		address := (&url.URL{Scheme: "file", Path: file}).String()
		b := openTab(t, address)
		b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(address))
		is := b.texts()
		if len(is) < 5 || !maps.Equal(is, want) {
			t.Errorf("%s: without scripts there are %d sections, with them %d", name, len(is), len(want))
			for section := range want {
				if is[section] != want[section] {
					t.Errorf("%s: %s differs: %.200s", name, section, is[section])
				}
			}
		}
		if ready := b.number(fmt.Sprintf(`Number(%s) + document.querySelectorAll(".browse").length`, ready)); ready != 0 {
			t.Errorf("%s: the script was run", name)
		}
		if left := b.number(`document.body.innerText.length - [...document.querySelectorAll("header, section[id]")].reduce((sum, it) => sum + it.innerText.length, 0)`); left > 100 {
			t.Errorf("%s: %v more characters are shown", name, left)
		}
	}
}
