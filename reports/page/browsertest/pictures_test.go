package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestPicturesOfTheDocs makes the pictures that docs/screenshots.sh asks for, of the pages that it wrote.
func TestPicturesOfTheDocs(t *testing.T) {
	from, to := os.Getenv("AGENTBENCH_PAGES"), os.Getenv("AGENTBENCH_IMAGES")
	if from == "" || to == "" {
		t.Skip("docs/screenshots.sh makes them")
	}
	for _, shot := range []struct {
		name, page, hash string
		wait, of         string // what has to be true, and what is in the picture
	}{
		{"front", "tune.html", "", `document.querySelector("#front svg") && ` + ready, `#front figure`},
		{"map", "tune.html", "", `document.querySelector("#choice svg") && ` + ready, `#choice figure`},
		{"runs", "first.html", "#q=config%3Adefault%20score%3C1%20cost%3E0.0008&sort=-cost", rowsShown + ` > 5`, `.list`},
		{"run", "first.html", "#run=default%2Fproblem-002%2F1&step=2", `document.querySelectorAll(".run article").length > 2`, `.run`},
	} {
		for _, scheme := range []string{"light", "dark"} {
			b := openTab(t, "file://"+filepath.Join(from, shot.page))
			b.sized(1100)
			b.do(call(emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true}))
			b.scheme(scheme)
			b.do(chromedp.Navigate(b.url + shot.hash))
			b.wait(shot.wait)
			b.clip(filepath.Join(to, fmt.Sprintf("%s-%s.png", shot.name, scheme)), shot.of)
		}
	}
}

// clip takes a picture of an element, of at most 640 pixels of it, with its surroundings.
func (b *tab) clip(file, selector string) {
	b.t.Helper()
	rect := func(side string) float64 {
		return b.number(fmt.Sprintf(`(() => { const it = document.querySelector(%q).getBoundingClientRect(); return { left: it.left, top: it.top + scrollY, width: it.width, height: it.height }.%s })()`, selector, side))
	}
	const most, around = 640, 12
	clip := &page.Viewport{
		X: max(0, rect("left")-around), Y: max(0, rect("top")-around), Width: min(b.number("innerWidth"), rect("width")+2*around), Height: min(most, rect("height")+2*around), Scale: 1,
	}
	beyond := true
	err := chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		taken, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: clip, CaptureBeyondViewport: &beyond})
		if err != nil {
			return err
		}
		return os.WriteFile(file, taken.Data, 0o644)
	}))
	if err != nil {
		b.t.Fatal(err)
	}
}
