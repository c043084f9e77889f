package command

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// openLedger charges a suite's budget with what was spent in a folder before, and
// has every call from now on put down in its ledger.
func (p *program) openLedger(dir string, m *record.Manifest, s *spec.Suite, b *pace.Budget) (*record.Ledger, error) {
	balance, err := p.balance(dir, m, s)
	if err != nil {
		return nil, err
	}
	if !balance.Kept && balance.Paid != (record.Usage{}) && !pace.Unlimited(results.BudgetOf(&record.Results{Path: dir, Manifest: *m})) {
		fmt.Fprintf(p.err, "agentbench: warning: %s: %s\n", dir, noLedger)
	}
	for _, damage := range balance.Damage {
		fmt.Fprintf(p.err, "agentbench: warning: %s: %v\n", dir, damage)
	}
	if len(balance.Damage) > 0 {
		fmt.Fprintf(p.err, "hint: what is unknown counts as spent; agentbench plan %s shows the ledger\n", exit.ShellWord(dir))
	}
	ledger, err := record.OpenLedger(dir, balance)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	b.Charge(balance.Paid, balance.InDoubt())
	b.Keep(ledger)
	return ledger, nil
}

// noLedger says what is known where a suite with a budget has no ledger.
const noLedger = "spent.jsonl is missing: what records and scores prove to be paid counts as spent; what calls may have cost whose answers did not come is unknown"

// balance reads what a folder has spent of its suite's budget.
func (p *program) balance(dir string, m *record.Manifest, s *spec.Suite) (*record.Balance, error) {
	least := func() int64 {
		folder, err := results.Open(&record.Results{Path: dir, Manifest: *m}, nil)
		if err != nil {
			return 0
		}
		return folder.LeastOutput()
	}
	balance, err := pace.Balance(dir, m, s, results.BudgetOf(&record.Results{Path: dir, Manifest: *m}), least)
	var lost *record.LostLedger
	if errors.As(err, &lost) {
		return nil, exit.With(exit.NotMeasured, "agentbench repair --release "+exit.ShellWord(dir)+" rebuilds the ledger from what the records prove was paid", "%w", err)
	}
	return balance, exit.Unmeasured(err)
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
	suite := &spec.Suite{}
	if folder, err := results.Open(&record.Results{Path: dir, Manifest: m}, nil); err == nil {
		suite = folder.Document.Suite
	}
	balance, unknown := p.balance(dir, &m, suite)
	var lost *record.LostLedger
	if errors.As(unknown, &lost) {
		proven, err := record.EvidenceOf(dir)
		if err != nil {
			return exit.Unmeasured(err)
		}
		balance = &record.Balance{Kept: true, Paid: proven.Paid}
	} else if unknown != nil {
		return unknown
	}
	sheet := overview.Ledger(&m, results.Measured(&m), &suite.Budget, balance, "agentbench repair --release "+exit.ShellWord(dir))
	switch {
	case lost != nil:
		sheet.Notes = append(sheet.Notes, page.Saying("the ledger cannot be relied on: paid is what records and scores prove; what else was spent is unknown"))
	case !balance.Kept && pace.Unlimited(&suite.Budget):
		sheet.Notes = append(sheet.Notes, page.Saying("no ledger: no model was called for this folder"))
	case !balance.Kept:
		sheet.Notes = append(sheet.Notes, page.Saying(noLedger))
	}
	return cmp.Or(p.write(sheet, f), unknown)
}

// tellOvershoot says that more was spent than the suite's budget allows, which
// happens only where calls use more than can be known before they are made.
func (p *program) tellOvershoot(b *pace.Budget) {
	over := b.Overshoot()
	if over == nil {
		return
	}
	limited, spent := fmt.Sprintf("%d %s", over.Limit, over.Resource), fmt.Sprint(over.Spent)
	if over.Resource == pace.Cost {
		limited, spent = page.USD(record.Money(over.Limit).Dollars()), page.USD(record.Money(over.Spent).Dollars())
	}
	fmt.Fprintf(p.err, "agentbench: warning: the budget of %s was exceeded: %s spent, because calls used more than was reserved for them\n", limited, spent)
}
