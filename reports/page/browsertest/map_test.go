package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

const (
	mapRows    = `[...document.querySelectorAll(".map tbody tr:not(.space)")]`
	mapFocused = `document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText`
)

func TestTheMapHasTheMeanOfEachCell(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#map=")
	b.wait(mapRows + `.length === 2`)
	says := b.text(`[...document.querySelectorAll(".map td a")].map((a) => a.getAttribute("aria-label")).join("; ")`)
	if want := "filings, base: 1.00 of 2 trials: 1.00, 1.00; filings, new: 0.62 of 2 trials: 0.62, 0.62; repair, base: 1.00 of 2 trials: 1.00, 1.00; repair, new: 1.00 of 2 trials: 1.00, 1.00"; says != want {
		t.Errorf("the cells say %s", says)
	}
	if is := b.text(`document.querySelector('.map td:has([aria-label^="filings, new"])').querySelector(".trials").innerText.replace(/\s+/g, " ")`); is != "0.6 0.6" {
		t.Errorf("the trials say %q", is)
	}
	b.click(`document.querySelector('.map td a[aria-label^="filings, new"]')`)
	b.wait(summary + `.startsWith("2 of 8 runs")`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#q=task:filings config:new" {
		t.Errorf("the address is %s", is)
	}
}

func TestTheMapSortsAndHasAnAddress(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#map=right&q=task%3Atask-1*")
	b.wait(mapRows + `.length === 11`)
	first := mapRows + `[0].innerText.replace(/\s+/g, " ")`
	if is := b.text(first); !strings.HasPrefix(is, "task-1 1.00 0.00") {
		t.Errorf("the first task is %q", is)
	}
	for sort, want := range map[string]string{"-mean": "task-12 1.00 1.00", "mean": "task-1 1.00 0.00", "-spread": "task-1 1.00 0.00", "-flips": "task-1 1.00 0.00"} {
		b.goTo("#map=right&q=task%3Atask-1*&sort=" + sort)
		b.wait(fmt.Sprintf(`new URLSearchParams(location.hash.slice(1)).get("sort") === %q && document.querySelector(".orders [aria-current]")`, sort))
		if is := b.text(first); !strings.HasPrefix(is, want) {
			t.Errorf("%s: the first task is %q, want %q", sort, is, want)
		}
	}
	b.run(`const choice = document.querySelector("#map-number"); choice.value = "cost"; choice.dispatchEvent(new Event("change"))`)
	b.wait(`location.hash.startsWith("#map=cost&") && ` + mapRows + `[0].innerText.includes("$")`)
}

func TestTheMapByKeyboard(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#map=")
	b.wait(mapRows + `.length > 5`)
	b.keys("j")
	b.wait(mapFocused + ` === "task-1"`)
	b.do(pressed("ArrowRight"), pressed("ArrowRight"), pressed("ArrowUp"))
	b.wait(mapFocused + `.startsWith("task-0, new: ")`)
	b.keys("n")
	b.wait(mapFocused + `.startsWith("task-1, new: 0.00, lost")`)
	if n := b.number(`document.querySelectorAll('.map a[tabindex="0"]').length`); n != 1 {
		t.Errorf("%v cells are stops of the tab key", n)
	}
	b.keys("\r")
	b.wait(summary + `.startsWith("1 of 80 runs")`)
}

// Of many tasks and configurations only the cells in sight are there.
func TestALargeMap(t *testing.T) {
	s := usual()
	s.tasks, s.configurations = 300, nil
	for n := range 60 {
		s.configurations = append(s.configurations, fmt.Sprintf("c%d", n))
	}
	b := open(t, write(t, s.folder(t)), "#map=")
	b.sized(1280)
	b.run(`const at = document.querySelector(".map"); at.scrollTop = 1e9; at.scrollLeft = 1e9`)
	b.wait(mapRows + `.at(-1).innerText.startsWith("task-299") && document.querySelector(".map thead").innerText.includes("c59")`)
	if n := b.number(`document.querySelectorAll(".map td").length`); n > 2500 {
		t.Errorf("%v cells are in the document", n)
	}
	over := b.number(`document.querySelector(".map thead th:last-of-type").getBoundingClientRect().right - document.querySelector(".map").getBoundingClientRect().right`)
	if over > 2 {
		t.Errorf("the last column is %v pixels out of sight", over)
	}
}
