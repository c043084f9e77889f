package temporal

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// A budget ends a suite when it is spent to the last call, whichever worker has borrowed it.
func TestABudgetOfTwoWorkers(t *testing.T) {
	files := scaleSuite(80, "{provider: simulate, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 6)
	files["suite.yaml"] += "budget: {calls: 50}\n"
	s := newSite(t, false, files)
	s.startWorker(0)
	s.startWorker(1)
	out, err := s.elsewhere("there").CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 4 || !strings.Contains(string(out), "the suite's budget is spent after 50 of 80 runs") {
		t.Errorf("%v: %s", err, out)
	}
	if l := s.ledger("there"); l.Paid.Calls != 50 || l.InDoubt().Calls != 0 {
		t.Errorf("%d calls are paid and %d in doubt, want 50 and 0", l.Paid.Calls, l.InDoubt().Calls)
	}
}
