package browsertest

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

// BenchmarkLargePage opens a page of 100,000 runs, filters and sorts them.
func BenchmarkLargePage(b *testing.B) {
	s := usual()
	small := open(b, write(b, s.folder(b)), "#q=")
	before := small.resident()
	s.tasks = 50_000
	file := write(b, s.folder(b))
	for b.Loop() {
		report := open(b, file, "")
		report.wait(`document.querySelector("svg") && performance.getEntriesByName("first-contentful-paint").length === 1`)
		b.ReportMetric(report.number(`performance.getEntriesByName("first-contentful-paint")[0].startTime`), "ms-to-the-first-chart")
		b.ReportMetric(report.number(`performance.now()`), "ms-to-the-report")
		b.ReportMetric(report.resident(), "MiB-renderer-of-the-report")
		tab := open(b, file, "#q=")
		tab.wait(rowsShown + ` > 5`)
		b.ReportMetric(tab.number(`performance.now()`), "ms-to-the-list")
		b.ReportMetric(tab.took("#q=config%3Anew%20score%3C1&sort=-cost"), "ms-to-filter-and-sort")
		b.ReportMetric(tab.took(`#q=task%3Atask-4*%20%22passed%22`), "ms-to-search")
		b.ReportMetric(tab.resident(), "MiB-renderer")
		b.ReportMetric(tab.mapped("#map=&q=&sort=-spread"), "ms-to-the-map")
		b.ReportMetric(tab.resident(), "MiB-renderer-with-the-map")
		b.ReportMetric(before, "MiB-renderer-of-80-runs")
	}
}

// took is how many milliseconds it takes until the runs of an address are shown.
func (b *tab) took(hash string) float64 {
	b.t.Helper()
	return b.number(`new Promise((ended) => {
		const start = performance.now();
		new MutationObserver((_, seen) => { seen.disconnect(); requestAnimationFrame(() => ended(performance.now() - start)) }).observe(document.querySelector(".summary"), {childList: true});
		location.hash = ` + strconv.Quote(hash) + `;
	})`)
}

// mapped is how many milliseconds it takes until a map is shown.
func (b *tab) mapped(hash string) float64 {
	b.t.Helper()
	return b.number(`new Promise((ended) => {
		const start = performance.now();
		new MutationObserver((_, seen) => { seen.disconnect(); requestAnimationFrame(() => ended(performance.now() - start)) }).observe(document.querySelector(".map tbody"), {childList: true});
		location.hash = ` + strconv.Quote(hash) + `;
	})`)
}

// resident is the memory of the largest process that renders pages.
func (b *tab) resident() (most float64) {
	b.t.Helper()
	info, err := chromedp.CallBrowser(b.ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, process := range info.ProcessInfo {
		status, err := os.ReadFile("/proc/" + strconv.FormatInt(process.ID, 10) + "/status")
		if err != nil || process.Type != "renderer" {
			continue
		}
		if kB := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(status); kB != nil {
			n, _ := strconv.ParseFloat(string(kB[1]), 64)
			most = max(most, n/1024)
		}
	}
	return most
}
