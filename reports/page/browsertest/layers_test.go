package browsertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	opened["calibrate"] = func() *tab { return openPlain(t, calibrated(t)) }
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

// Every chart of every kind of page has its texts within the picture. Where AGENTBENCH_PICTURES names a folder, a
// picture of each is kept there, light and dark, in three widths, for those who look at them.
func TestEveryChartIsWhole(t *testing.T) {
	kept := os.Getenv("AGENTBENCH_PICTURES")
	eachReport(t, func(name string, b *tab) {
		b.run(`document.querySelectorAll("details").forEach((it) => { it.open = false })`)
		b.do(call(emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})) // the picture has none
		charts := strings.Fields(b.text(`[...document.querySelectorAll("figure")].map((it) => it.id).join(" ")`))
		if len(charts) == 0 {
			t.Errorf("%s has no chart", name)
		}
		for _, id := range charts {
			b.goTo("#" + id) // which shows those that a reader chooses
			b.wait(fmt.Sprintf(`document.getElementById(%q).offsetParent`, id))
			if out := b.text(fmt.Sprintf(`(() => {
				const svg = document.getElementById(%q).querySelector("svg"), paper = svg.getBoundingClientRect();
				const outside = (it) => { const { left, right, top, bottom } = it.getBoundingClientRect(); return left < paper.left - 1 || right > paper.right + 1 || top < paper.top - 1 || bottom > paper.bottom + 1; };
				return [...svg.querySelectorAll("text")].filter(outside).map((it) => it.textContent).join("; ");
			})()`, id)); out != "" {
				t.Errorf("%s: texts of %s are cut: %s", name, id, out)
			}
			if kept == "" {
				continue
			}
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int64{320, 1280, 1920} {
					b.scheme(scheme)
					b.sized(width)
					b.clip(filepath.Join(kept, fmt.Sprintf("%s of %s, %d %s.png", strings.ReplaceAll(id, ":", "_"), name, width, scheme)), fmt.Sprintf("[id=%q]", id))
				}
			}
		}
	})
}
