package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/agentbench/agentbench/engine/record"
)

// swept is a sweep of so many configurations, whose runs differ by the value of a parameter.
func swept(configurations int) suite {
	s := usual()
	s.tasks, s.configurations = 12, nil
	for c := range configurations {
		s.configurations = append(s.configurations, fmt.Sprintf("sweep@max_iterations=%d,threshold=0.%d", 1+c%6, 10+c/6))
	}
	s.params = func(c int) []record.Param {
		return []record.Param{{Path: "terminate.max_iterations", Value: json.RawMessage(strconv.Itoa(1 + c%6))}, {Path: "terminate.confidence.threshold", Value: json.RawMessage(fmt.Sprintf("0.%d", 10+c/6))}}
	}
	s.change = func(run *record.Run, n int) {
		c := 0
		for i, name := range s.configurations {
			if name == run.Configuration {
				c = i
			}
		}
		run.Usage.Cost = record.Money(1+c%6) * record.Money(20+n+c/6) * 1e8
		if n%(2+c%5) == 0 {
			run.Outcome = record.Outcome{Status: record.Failed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Limit: 5, Used: 5}
		}
	}
	return s
}

// No report is wider than its window, however many configurations it has and whatever their names
// are; AGENTBENCH_PICTURES names a folder for pictures of all of it.
func TestReportsOfAllSizes(t *testing.T) {
	one, long := usual(), swept(6)
	one.tasks, one.configurations = 1, []string{"only"}
	long.configurations = []string{strings.Repeat("long-name-", 20), strings.Repeat("W", 200), "مرحبا بالعالم", "👩‍🚀🚀 emoji", "日本語の設定", "plain"}
	long.task = func(n int) string {
		return []string{strings.Repeat("task", 50), "שלום עולם", "日本語のタスク", "🧪 <b>x</b>"}[n%4] + fmt.Sprint(n)
	}
	for name, s := range map[string]suite{"one": one, "3": swept(3), "30": swept(30), "300": swept(300), "long": long} {
		b := open(t, write(t, s.folder(t)), "")
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			for _, width := range []int64{320, 1280, 1920} {
				b.sized(width)
				if wide := b.number("document.documentElement.scrollWidth"); wide > float64(width) {
					t.Errorf("%s at %d pixels is %v wide", name, width, wide)
				}
				b.whole(fmt.Sprintf("size-%s-%d-%s", name, width, scheme))
			}
		}
		b.printed("size-" + name)
	}
}

// whole keeps a picture of the whole page, or of its beginning.
func (b *tab) whole(name string) {
	b.t.Helper()
	dir := os.Getenv("AGENTBENCH_PICTURES")
	if dir == "" {
		return
	}
	beyond := true
	clip := &page.Viewport{Width: b.number("innerWidth"), Height: min(5000, b.number("document.documentElement.scrollHeight")), Scale: 1}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		taken, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: clip, CaptureBeyondViewport: &beyond})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".png"), taken.Data, 0o644)
	}))
}

// printed is wider than the paper nowhere, and kept as PDF. Wide tables have pages across.
func (b *tab) printed(name string) {
	b.t.Helper()
	const paper, across = 720, 1047 // pixels of A4 between margins
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.sized(across)
	if wide := b.number("document.documentElement.scrollWidth"); wide > across {
		b.t.Errorf("%s is printed %v wide", name, wide)
	}
	b.sized(paper)
	if wide := b.number(`Math.max(...[...document.querySelectorAll("#report *")].filter((it) => !it.closest(".wide")).map((it) => it.getBoundingClientRect().right))`); wide > paper {
		b.t.Errorf("%s is printed %v wide beside its wide tables", name, wide)
	}
	b.whole(name + "-printed")
	if dir := os.Getenv("AGENTBENCH_PICTURES"); dir != "" {
		b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			made, err := cdp.Call(ctx, target, page.PrintToPDF, page.PrintToPDFParams{})
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name+".pdf"), made.Data, 0o644)
		}))
	}
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
}
