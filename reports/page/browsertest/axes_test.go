package browsertest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A reader chooses the axes of the map of tune, with and without a script: the address says which.
func TestAxesOfTheMap(t *testing.T) {
	dir := t.TempDir()
	results, file := filepath.Join(dir, "first"), filepath.Join(dir, "tune.html")
	agentbench(t, "run", "quickstart", "-q", "--out", results)
	var tuning struct {
		Others []struct {
			X, Y struct {
				Path   string
				Values []string
			}
			Cells []struct {
				X, Y      int
				Objective *float64
			}
		} `json:"other_maps"`
	}
	if err := json.Unmarshal([]byte(agentbench(t, append(tuned(results), "--page", file, "--json")...)), &tuning); err != nil || len(tuning.Others) != 2 {
		t.Fatalf("%d other maps: %v", len(tuning.Others), err)
	}
	const shown = `[...document.querySelectorAll("#choice figure")].filter((it) => it.offsetParent).map((it) => it.id).join()`
	b := open(t, file, "")
	if is := b.text(shown); is != "chart-map" {
		t.Fatalf("at first %s is shown", is)
	}
	for _, m := range tuning.Others {
		id := "chart-map:" + m.X.Path + ":" + m.Y.Path
		name := m.X.Path[strings.LastIndex(m.X.Path, ".")+1:] + " × " + m.Y.Path[strings.LastIndex(m.Y.Path, ".")+1:]
		b.click(fmt.Sprintf(`[...document.querySelectorAll("#choice figure .choices a")].find((it) => it.offsetParent && it.textContent === %q)`, name))
		b.wait(fmt.Sprintf(`%s === %q && location.hash === "#%s"`, shown, id, id))
		figure := fmt.Sprintf(`document.getElementById(%q)`, id)
		if is := b.text(figure + `.querySelector("[aria-current]").textContent`); is != name {
			t.Errorf("%s is the current choice", is)
		}
		b.click(figure + `.querySelector("summary")`)
		b.wait(figure + `.querySelector(".tools")`)
		rows, err := csv.NewReader(strings.NewReader(b.clipboard("copy CSV"))).ReadAll()
		if err != nil || len(rows) != 1+len(m.Y.Values) || len(rows[0]) != 1+len(m.X.Values) || rows[0][0] != m.Y.Path {
			t.Fatalf("%v: %q", err, rows)
		}
		known := 0
		for _, cell := range m.Cells {
			if is, err := strconv.ParseFloat(rows[1+cell.Y][1+cell.X], 64); cell.Objective != nil {
				if known++; err != nil || is != *cell.Objective {
					t.Errorf("%s: the cell %d, %d is %v, want %v", id, cell.X, cell.Y, rows[1+cell.Y][1+cell.X], *cell.Objective)
				}
			}
		}
		if known < 4 {
			t.Errorf("%d numbers", known)
		}
		b.click(figure + `.querySelector("summary")`)
	}
	b.run(`history.back()`)
	b.wait(fmt.Sprintf(`%s === "chart-map:%s:%s"`, shown, tuning.Others[0].X.Path, tuning.Others[0].Y.Path))
	b.run(`history.back()`)
	b.wait(shown + ` === "chart-map"`)

	hash := "#chart-map:" + tuning.Others[1].X.Path + ":" + tuning.Others[1].Y.Path
	again := open(t, file, hash)
	again.wait(fmt.Sprintf(`"#" + %s === %q`, shown, hash))
	plain := openTab(t, again.url)
	plain.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(again.url+hash))
	if is := plain.text(shown); "#"+is != hash {
		t.Errorf("without a script %s is shown", is)
	}
}
