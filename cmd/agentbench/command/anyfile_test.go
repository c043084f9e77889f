//go:build linux

package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// largeFiles are files of at most 16 MiB that are the most work to check, each
// by another way to have too much of something. They are written only when they
// are needed: the memory of a process counts in the peak of its children.
var largeFiles = map[string]func() string{
	"different expressions": func() string {
		return checks(50_000, "output.a.exists(x, x == %[1]d)")
	},
	"long expressions": func() string {
		return checks(500, strings.Repeat("[0,1,2,3].exists(x,x==1)||", 150)+"iteration > %[1]d")
	},
	"nested expressions": func() string {
		return checks(1000, strings.Repeat("[", 35)+"%[1]d"+strings.Repeat("]", 35)+" == null")
	},
	"places in a prompt": func() string { return aLoop(`"` + strings.Repeat("{{ iteration }}", 1_000_000) + `"`) },
	"braces":             func() string { return aLoop(`"` + strings.Repeat("{{", 8<<20-100) + `"`) },
	"configurations":     func() string { return aSuite + repeated(90_000, " - {name: c%d, loop: l.yaml}\n") },
	"settings": func() string {
		return aSuite + repeated(50_000, " - {name: c%d, loop: l.yaml, set: {agent.seed: %[1]d}}\n")
	},
	"a sweep of a large loop": func() string {
		return aSuite + " - {name: c, loop: checks.yaml, sweep: {agent.seed: [" + repeated(10_000, "%d,") + "]}}\n"
	},
	"thresholds": func() string {
		return aSuite + " - {name: c, loop: l.yaml}\nthresholds:\n" + repeated(100_000, " - configurations['c'].success > 0.%d\n")
	},
	"values": func() string {
		return "suite: s\ntasks: [{input: x, vars: {a: [" + strings.Repeat("1,", 480_000) + "]}}]\n"
	},
	"prose":   func() string { return aLoop(`"` + strings.Repeat("x", 16<<20-100) + `"`) },
	"nothing": func() string { return aLoop("p") + strings.Repeat("\n", 16<<20-100) },
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

// P13: checking any file takes at most 2 s of a processor that does nothing else, and 256 MiB. Here others work beside it.
func TestP13_CheckOfAnyFileEndsSoon(t *testing.T) {
	skipLong(t)
	t.Parallel()
	const most, memory = 3 * 2 * time.Second, 256 << 20
	dir := t.TempDir()
	write(t, dir, "l.yaml", aLoop("p"))
	write(t, dir, "checks.yaml", checks(200, "iteration > %[1]d"))
	for name, text := range largeFiles {
		t.Run(name, func(t *testing.T) {
			write(t, dir, "file.yaml", text())
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
