package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/browse"
)

// A page above 10 MB is written, with a warning.
func TestLargePagesAreWarnedOf(t *testing.T) {
	for size, warned := range map[int64]bool{10_000_000: false, 10_000_001: true} {
		var out, told bytes.Buffer
		p := program{out: &out, err: &told}
		p.tellPage(p.out, "report.html", size, &browse.Data{Runs: 2, WithTexts: 2})
		if is := strings.Contains(told.String(), "warning: the page is larger than 10 MB and may open slowly"); is != warned || !strings.Contains(out.String(), "report.html: 2 runs, 10 MB") {
			t.Errorf("%d bytes: %s%s", size, out.String(), told.String())
		}
	}
}
