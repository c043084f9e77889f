package browsertest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// views are the addresses of all views of the usual suite and of conversations, and what is there
// once they are shown.
var views = []struct{ name, conversations, usual, shown string }{
	{"list", "#q=", "#q=task:task-1*", `.list .rows td a`},
	{"map", "#map=", "#map=right", `.map td a`},
	{"run", "#run=new%2Ffilings%2F1&step=2", "#run=new%2Ftask-23%2F1", `.run article.ending`},
	{"program", "#run=new%2Frepair%2F1", "", `.run pre .more`},
	{"compare", "#run=base%2Ffilings%2F1&with=new%2Ffilings%2F1", "#run=base%2Ftask-2%2F1&with=new%2Ftask-2%2F1", `.compare .first`},
	{"label", "#label=helpful", "#label=right", `.label .choices button`},
	{"report", "#", "#", `#report table`},
}

func (b *tab) show(hash, there string) {
	b.t.Helper()
	b.goTo(hash)
	b.wait(fmt.Sprintf(`document.querySelector(%q)?.offsetParent`, there))
}

func TestEveryViewIsAccessible(t *testing.T) {
	script := axe(t)
	b := open(t, write(t, conversations(t)), "")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, view := range views[:len(views)-1] { // without the report, which is the same without the script
			b.show(view.conversations, view.shown)
			b.accessible(script, scheme+" "+view.name)
		}
	}
	b.keys("?")
	b.wait(`document.querySelector("dialog").open`)
	b.accessible(script, "help")
}

// axe would find what it is to find.
func TestWhatIsNotAccessibleIsSeen(t *testing.T) {
	script := axe(t)
	b := open(t, write(t, conversations(t)), "#q=")
	b.run(`document.querySelector("#filter").removeAttribute("aria-label"); document.querySelector("#filter").removeAttribute("placeholder")`)
	value[chromedp.Void](b, script+"\n;undefined")
	if found := b.text(`axe.run(document).then(({violations}) => violations.map(({id}) => id).join())`); !strings.Contains(found, "label") {
		t.Errorf("axe finds %q", found)
	}
}

// No view is wider than the window, whatever the names are.
func TestNarrowAndWide(t *testing.T) {
	long := usual()
	long.tasks = 4
	long.configurations = []string{strings.Repeat("long-name-", 20), "مرحبا بالعالم", "👩‍🚀🚀 emoji"}
	long.task = func(n int) string {
		return []string{strings.Repeat("task", 50), "שלום עולם", "日本語のタスク", "🧪 <b>x</b>"}[n]
	}
	long.output = func(int) string {
		return strings.Repeat("x", 3000) + " مرحبا 👩‍🚀\n" + strings.Repeat("word ", 500)
	}
	for name, folder := range map[string]string{"conversations": conversations(t), "usual": usual().folder(t), "long": long.folder(t)} {
		b := open(t, write(t, folder), "#q=")
		if name == "long" {
			b.run(`window.ids = [...document.querySelectorAll(".rows td a")].map((a) => a.getAttribute("href"))`)
		}
		schemes := []string{"light"}
		if os.Getenv("AGENTBENCH_PICTURES") != "" {
			schemes = append(schemes, "dark") // for those who look at them
		}
		for _, scheme := range schemes {
			b.scheme(scheme)
			for _, width := range []int64{320, 1280, 1920} {
				b.sized(width)
				for _, view := range views {
					hash := map[string]string{"conversations": view.conversations, "usual": view.usual, "long": view.conversations}[name]
					if name == "long" && strings.HasPrefix(hash, "#run") {
						hash = b.text(`ids[0] + "&with=" + ids[4].slice(5)`)
						if view.name != "compare" {
							hash = b.text(`ids[0]`)
						}
					}
					if hash == "" || name == "long" && (view.name == "program" || view.name == "label") {
						continue
					}
					there := view.shown
					if name == "long" && view.name == "compare" {
						there = ".compare .equal"
					}
					b.show(hash, there)
					if wide := b.number("document.documentElement.scrollWidth"); wide > float64(width) {
						t.Errorf("%s: %s at %d pixels is %v wide", name, view.name, width, wide)
					}
					b.picture(fmt.Sprintf("%s-%s-%d-%s", name, view.name, width, scheme))
				}
			}
		}
	}
}

// Printed, a list has its rows and no tools.
func TestPrinting(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=")
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.run(`dispatchEvent(new Event("beforeprint"))`)
	if n := b.number(rowsShown); n != 80 {
		t.Errorf("%v of 80 rows are printed", n)
	}
	for _, hidden := range []string{"nav", "#filter", ".list .tools"} {
		if b.number(fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().height`, hidden)) != 0 {
			t.Errorf("%s is printed", hidden)
		}
	}
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
	b.run(`dispatchEvent(new Event("afterprint"))`)
	if n := b.number(rowsShown); n >= 80 {
		t.Errorf("%v rows are there after it", n)
	}
}

// A page of one run has all views.
func TestOneRun(t *testing.T) {
	s := usual()
	s.tasks, s.configurations = 1, []string{"only"}
	b := open(t, write(t, s.folder(t)), "#q=")
	b.wait(summary + `.startsWith("1 of 1 run ")`)
	b.show("#map=", ".map td a")
	b.show("#run=only%2Ftask-0%2F1", ".run article.ending")
	if b.number(`document.querySelectorAll(".beside").length`) != 0 {
		t.Error("there is nothing to compare it with")
	}
	b.show("#label=right", ".label .choices button")
	b.keys("y")
	b.wait(`document.querySelector(".label").innerText.includes("These were all outputs.")`)
}
