//go:build linux

package command

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// largeFiles are files of at most 16 MiB, or of a part of that, that are the most work
// to check, each by another way to have too much of something. They are written only when
// they are needed: the memory of a process counts in the peak of its children.
var largeFiles = map[string]func(part int) string{
	"different expressions": func(part int) string {
		return checks(50_000/part, "output.a.exists(x, x == %[1]d)")
	},
	"long expressions": func(part int) string {
		return checks(500/part, strings.Repeat("[0,1,2,3].exists(x,x==1)||", 150)+"iteration > %[1]d")
	},
	"nested expressions": func(part int) string {
		return checks(1000/part, strings.Repeat("[", 35)+"%[1]d"+strings.Repeat("]", 35)+" == null")
	},
	"places in a prompt": func(part int) string { return aLoop(`"` + strings.Repeat("{{ iteration }}", 1_000_000/part) + `"`) },
	"braces":             func(part int) string { return aLoop(`"` + strings.Repeat("{{", 8<<20/part-100) + `"`) },
	"configurations":     func(part int) string { return aSuite + repeated(90_000/part, " - {name: c%d, loop: l.yaml}\n") },
	"settings": func(part int) string {
		return aSuite + repeated(50_000/part, " - {name: c%d, loop: l.yaml, set: {agent.seed: %[1]d}}\n")
	},
	"a sweep of a large loop": func(part int) string {
		return aSuite + " - {name: c, loop: checks.yaml, sweep: {agent.seed: [" + repeated(10_000/part, "%d,") + "]}}\n"
	},
	"thresholds": func(part int) string {
		return aSuite + " - {name: c, loop: l.yaml}\nthresholds:\n" + repeated(100_000/part, " - configurations['c'].success > 0.%d\n")
	},
	"values": func(part int) string {
		return "suite: s\ntasks: [{input: x, vars: {a: [" + strings.Repeat("1,", 480_000/part) + "]}}]\n"
	},
	"prose":   func(part int) string { return aLoop(`"` + strings.Repeat("x", 16<<20/part-100) + `"`) },
	"nothing": func(part int) string { return aLoop("p") + strings.Repeat("\n", 16<<20/part-100) },
}

// checks is a loop with so many different checks.
func checks(n int, expression string) string {
	return aLoop("p") + "evaluate:\n  checks:\n" + repeated(n, "   - {name: c%d, expr: '"+expression+"'}\n")
}

func aLoop(prompt string) string {
	return "loop: l\nagent: {model: m, reply: json}\nprompt: " + prompt + "\n"
}

const aSuite = "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations:\n"

// repeated is a line for each number from 0.
func repeated(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

// P13: checking any file takes at most 2 s of a processor that does nothing else, and 256 MiB. Here others work beside it, and
// files are a quarter as large; AGENTBENCH_NIGHTLY=1 checks whole ones.
func TestP13_CheckOfAnyFileEndsSoon(t *testing.T) {
	skipLong(t)
	t.Parallel()
	part, most, memory := 4, 3*time.Second, int64(128<<20)
	if os.Getenv("AGENTBENCH_NIGHTLY") != "" {
		part, most, memory = 1, 3*2*time.Second, 256<<20
	}
	dir := t.TempDir()
	write(t, dir, "l.yaml", aLoop("p"))
	write(t, dir, "checks.yaml", checks(200, "iteration > %[1]d"))
	for name, text := range largeFiles {
		t.Run(name, func(t *testing.T) {
			write(t, dir, "file.yaml", text(part))
			code, used, peak, _, said := spent(t, dir, "check", "file.yaml")
			if code != 0 && code != exit.WrongSpec { // refused or not
				t.Errorf("exit code %d", code)
			}
			if used > most || peak > memory {
				t.Errorf("took %v and %d MiB: %.200s", used, peak>>20, said)
			}
			t.Logf("%v, %d MiB: %.100s", used, peak>>20, said)
		})
	}
}
