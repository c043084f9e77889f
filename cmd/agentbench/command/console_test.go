package command

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

func TestPrintableLeavesNothingThatATerminalObeys(t *testing.T) {
	cases := map[string]string{
		"plain text, 文字 🚀": "plain text, 文字 🚀",
		"two\n::error::x":  `two\n::error::x`,
		"\x1b[31mred":      `\x1b[31mred`,
		"\a\r\u202e\u200b": `\x07\r\u202e\u200b`,
		"bad \xff":         `bad \xff`,
	}
	for text, want := range cases {
		if got := page.Visible(text); got != want {
			t.Errorf("page.Visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFreshFoldersAreSafeNamesAndDiffer(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.FixedZone("", 3600))
	first, second := results.Fresh("../a b/ü", now), results.Fresh("../a b/ü", now)
	if first == second {
		t.Errorf("two folders of the same second are both %s", first)
	}
	if want := filepath.Join("results", "---a-b---20260102-140405-"); !strings.HasPrefix(first, want) {
		t.Errorf("got %s, want %sXXXX", first, want)
	}
	if long := filepath.Base(results.Fresh(strings.Repeat("x", 500), now)); len(long) > 100 {
		t.Errorf("a folder name of %d characters", len(long))
	}
}

func TestSettingsKeepWhatStandsBehindTheFirstEqualsSign(t *testing.T) {
	var got []spec.Setting
	c := &cobra.Command{}
	setFlag(c, &got, "set")
	err := c.ParseFlags([]string{"--set", "a.b=1", "--set", "evaluate.checks.x.expr=output == 'a=b, c'"})
	want := []spec.Setting{{Path: "a.b", Value: "1"}, {Path: "evaluate.checks.x.expr", Value: "output == 'a=b, c'"}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	for _, wrong := range []string{"a.b", "=1", "", "c="} {
		if err := c.ParseFlags([]string{"--set", wrong}); err == nil {
			t.Errorf("--set %q was taken", wrong)
		}
	}
}

func TestOnlyAClosedPipeIsForgiven(t *testing.T) {
	if err := unlessClosed(errors.Join(errors.New("writing"), syscall.EPIPE)); err != nil {
		t.Errorf("a reader that has seen enough is an error: %v", err)
	}
	if unlessClosed(syscall.ENOSPC) == nil {
		t.Error("a full disk is forgiven")
	}
}
