package command

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refusedValues are values that no command takes that has a flag of the name, and a part
// of what is said then.
var refusedValues = map[string]map[string]string{
	"allow-incomplete": {"perhaps": "true or false"},
	"attempts":         {"0": "at least 1", "-1": "at least 1", "many": "a whole number"},
	"cache":            {"of": "unknown value"},
	"concurrency":      {"0": "at least 1", "-3": "at least 1", "2.5": "a whole number"},
	"dry-run":          {"perhaps": "true or false"},
	"evaluate":         {"perhaps": "true or false"},
	"force":            {"perhaps": "true or false"},
	"format":           {"htm": "unknown format"},
	"grace":            {"-5s": "no less than 0s", "5": "a duration"},
	"margin":           {"x": "margin"},
	"parameter":        {"": "want", "a": "want"},
	"page":             {"": "want a file in a folder that is there", "nowhere/report.html": "want a file in a folder that is there", ".": "is a folder"},
	"port":             {"-1": "want 0 to 65535", "65536": "want 0 to 65535", "http": "a whole number"},
	"quiet":            {"perhaps": "true or false"},
	"all":              {"maybe": "true or false"},
	"seed":             {"one": "a whole number", "0.5": "a whole number"},
	"set":              {"path": "want path=value", "=1": "want path=value", "a.b=": "no value for a.b", "a=[1": "in this list"},
	"table":            {"nosuch": "unknown table"},
	"trials":           {"0": "want 1 to", "-1": "want 1 to", "1000001": "want 1 to"},
	"unpaired":         {"perhaps": "true or false"},
	"write":            {"nosuch=file": "unknown format", "json=": "FORMAT=FILE"},
}

// otherMeaning are flags of one name that mean different things, and those whose values
// are texts, files, or names of what has to be there.
var otherMeaning = []string{
	"baseline", "baselines", "cache-dir", "configuration", "events", "from", "help", "iterations", "limit", "no-descriptions", "out", "scorer", "shard", "suite", "task", "threshold", "tune",
}

// Every flag that two commands have refuses the same values, with the same text.
func TestSharedFlagsRefuseTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &program{env: os.Getenv, in: strings.NewReader(""), now: time.Now}
	having := map[string][]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { having[f.Name] = append(having[f.Name], c) })
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(p.commands())
	shared := 0
	for name, commands := range having {
		values, known := refusedValues[name]
		switch {
		case len(commands) < 2:
			continue
		case !known && !slices.Contains(otherMeaning, name):
			t.Errorf("%d commands have --%s: name values that all refuse, or why they need not", len(commands), name)
			continue
		case !known:
			continue
		}
		shared++
		for value, want := range values {
			var first, of string
			for _, c := range commands {
				args := append(strings.Fields(c.CommandPath())[1:], argumentsOf(c)...)
				var told strings.Builder
				code := run(context.Background(), append(args, "--"+name+"="+value), os.Getenv, strings.NewReader(""), &strings.Builder{}, &told)
				text := strings.ReplaceAll(told.String(), c.CommandPath(), "agentbench X")
				if first == "" {
					first, of = text, c.Name()
				}
				if code != 2 || !strings.Contains(text, want) || !allTheSame(name, first, text) {
					t.Errorf("%s --%s=%s: exit code %d, want 2\n%s\nwant %q, as %s says\n%s", c.Name(), name, value, code, text, want, of, first)
				}
			}
		}
	}
	if shared < 14 {
		t.Errorf("only %d flags are shared", shared)
	}
}

// allTheSame compares what two commands say; of tables and formats each lists its own.
func allTheSame(name, one, other string) bool {
	if name == "table" || name == "format" {
		one, _, _ = strings.Cut(one, "\nhint")
		other, _, _ = strings.Cut(other, "\nhint")
	}
	return one == other
}

// argumentsOf are as many as a command wants, and what it cannot do without.
func argumentsOf(c *cobra.Command) []string {
	switch c.Name() {
	case "diff", "merge", "set":
		return []string{"one", "other"}
	case "calibrate":
		return []string{"suite.yaml", "--labels=labels.csv"}
	case "list", "prune", "verify", "version":
		return nil
	}
	return []string{"suite.yaml"}
}
