package command

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
)

// openLedger charges a suite's budget with what was spent in a folder before, and has every call from now on written into its ledger.
func (p *program) openLedger(dir string, m *record.Manifest, b *pace.Budget) (*record.Ledger, error) {
	balance, err := record.ReadLedger(dir, m)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	ledger, err := record.OpenLedger(dir, balance)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	b.Charge(balance.Paid, balance.Doubt)
	b.Keep(ledger)
	return ledger, nil
}

func (p *program) planFolder(dir string, f *reportFlags) error {
	m, err := p.openManifest(dir)
	if err != nil {
		return err
	}
	if m.Status == record.StateRunning { // or it was killed, or its disk was full
		if err := results.Count(dir, &m); err != nil {
			return exit.Unmeasured(err)
		}
	}
	balance, err := record.ReadLedger(dir, &m)
	if err != nil {
		return exit.Unmeasured(err)
	}
	sheet := overview.Ledger(&m, results.Measured(&m), results.BudgetOf(&record.Results{Path: dir, Manifest: m}), balance, "agentbench repair --release "+exit.ShellWord(dir))
	if !balance.Kept {
		sheet.Notes = append(sheet.Notes, page.Saying("no ledger: no model was called for this folder"))
	}
	return p.write(sheet, f)
}

// tellOvershoot says that more was spent than the suite's budget allows, which
// happens only where calls use more than can be known before they are made.
func (p *program) tellOvershoot(b *pace.Budget) {
	var limited, spent string
	switch limits, used := b.Limits(), b.Spent(); b.Overshoot() {
	case record.ReasonBudgetCalls:
		limited, spent = fmt.Sprintf("%d calls", limits.Calls), fmt.Sprint(used.Calls)
	case record.ReasonBudgetTokens:
		limited, spent = fmt.Sprintf("%d tokens", limits.Tokens), fmt.Sprint(used.Tokens())
	case record.ReasonBudgetCost:
		limited, spent = page.USD(limits.Cost.Dollars()), page.USD(used.Cost.Dollars())
	default:
		return
	}
	fmt.Fprintf(p.err, "agentbench: warning: the budget of %s was exceeded: %s spent, because calls used more than was reserved for them\n", limited, spent)
}
