package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// openLedger charges a suite's budget with what was spent in a folder before, and
// has every call from now on put down in its ledger; nil where there is no budget
// and was none. Earlier is what runs without a ledger have paid.
func (p *program) openLedger(dir string, m *record.Manifest, s *spec.Suite, b *pace.Budget, earlier record.Usage) (*record.Ledger, error) {
	balance, err := p.balance(dir, m, s, earlier)
	if err != nil {
		return nil, err
	}
	if !balance.Kept && unlimited(&s.Budget) {
		return nil, nil
	}
	if !balance.Kept && balance.Paid != (record.Usage{}) && !unlimited(results.BudgetOf(m)) {
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

func unlimited(b *spec.SuiteBudget) bool { return b.Calls == 0 && b.Tokens == 0 && b.CostUSD == 0 }

// balance reads what a folder has spent of its suite's budget.
func (p *program) balance(dir string, m *record.Manifest, s *spec.Suite, earlier record.Usage) (*record.Balance, error) {
	balance, err := record.ReadLedger(dir, m)
	var lost *record.LostLedger
	switch {
	case errors.As(err, &lost):
		return nil, exit.With(exit.NotMeasured, "agentbench repair --release "+exit.ShellWord(dir)+" begins the ledger anew with what the records prove was paid", "%w", err)
	case err != nil:
		return nil, exit.Unmeasured(err)
	case !balance.Kept && unlimited(&s.Budget) && unlimited(results.BudgetOf(m)):
		balance.Paid = earlier
	case !balance.Kept:
		proven, err := record.EvidenceOf(dir)
		if err != nil {
			return nil, exit.Unmeasured(err)
		}
		balance.Paid = earlier.Larger(proven.Paid)
	case balance.Earlier:
		if err := splitEarlier(dir, m, s, balance); err != nil {
			return nil, exit.Unmeasured(err)
		}
	}
	return balance, nil
}

// splitEarlier says of a ledger that told no causes what the records prove: what was
// paid, and what is released because it never reached a server. They do not say how
// much was reserved for a call, but the least that can have been is known; of what there
// was less of than that, all that was not paid is released.
func splitEarlier(dir string, m *record.Manifest, s *spec.Suite, b *record.Balance) error {
	proven, err := record.EvidenceOf(dir)
	if err != nil {
		return err
	}
	var unspent record.Usage
	for name, attempts := range proven.Unsent {
		least := record.Usage{Calls: 1}
		if declared, ok := s.Models.Get(name); ok {
			least = pace.OptionsOf(&declared).Least(results.LeastOutput(m))
		}
		for range attempts {
			unspent = unspent.Plus(least)
		}
	}
	over := proven.Paid.Plus(unspent).Minus(b.InDoubt())
	if unspent = unspent.Minus(over); over.Calls > 0 {
		unspent = record.Usage{} // some were made when there was no budget, and it is unknown which
	}
	b.Split(proven.Paid, unspent)
	return nil
}

// planFolder shows the ledger of a result folder.
func (p *program) planFolder(dir string) error {
	m, err := p.openManifest(dir)
	if err != nil {
		return err
	}
	if m.Status == record.StateRunning { // or it was killed, or its disk was full
		if err := countRuns(dir, &m); err != nil {
			return exit.Unmeasured(err)
		}
	}
	suite := &spec.Suite{}
	if folder, err := results.OpenManifest(dir, m, results.Options{}); err == nil {
		suite = folder.Document.Suite
		if whole, err := folder.Whole(p.env); err == nil {
			suite = whole.Suite
		}
	}
	fmt.Fprintf(p.out, "%s: %d of %s are made\n", page.Visible(m.Suite), measured(&m), page.Plural(m.Totals.Planned, "run", "runs"))
	balance, unknown := p.balance(dir, &m, suite, m.Volatile.Paid)
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
	if !balance.Kept && unlimited(results.BudgetOf(&m)) {
		fmt.Fprintf(p.out, "there is no ledger: the suite has no budget of calls, tokens or money\n")
		return nil
	}
	for _, damage := range balance.Damage {
		fmt.Fprintf(p.out, "damaged: %v\n", damage)
	}
	if _, err := page.Terminal(p.out, ledgerTable(results.BudgetOf(&m), balance), page.Screen{Width: p.width(p.out)}); err != nil {
		return exit.Unmeasured(err)
	}
	notes := ledgerNotes(dir, balance)
	switch {
	case lost != nil:
		notes = append(notes, "the ledger cannot be relied on: paid is what records and scores prove; what else was spent is unknown")
	case !balance.Kept:
		notes = append(notes, noLedger)
	}
	p.tellNotes(notes)
	return unknown
}

// ledgerTable has for each resource what was paid, what is in doubt, and what is
// free of the limit, if there is one.
func ledgerTable(b *spec.SuiteBudget, balance *record.Balance) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "budget"}, {Head: "limit", Right: true}, {Head: "paid", Right: true}, {Head: "in doubt", Right: true}, {Head: "free", Right: true},
	}}
	paid, doubt := balance.Paid, balance.InDoubt()
	row := func(name string, limit, paid, doubt int64, text func(int64) string) {
		limited, free := "-", "-"
		if limit > 0 {
			limited, free = text(limit), text(max(0, limit-paid-doubt))
		}
		t.Rows = append(t.Rows, []string{name, limited, text(paid), text(doubt), free})
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	row("calls", b.Calls, paid.Calls, doubt.Calls, number)
	row("tokens", b.Tokens, paid.Tokens(), doubt.Tokens(), number)
	row("cost", int64(pace.OfSuite(*b).Limits().Cost), int64(paid.Cost), int64(doubt.Cost), func(n int64) string { return page.USD(record.Money(n).Dollars()) })
	return t
}

// ledgerNotes say what is in doubt, and why.
func ledgerNotes(dir string, b *record.Balance) (notes []string) {
	for _, cause := range b.Causes() {
		notes = append(notes, fmt.Sprintf("in doubt: %s: %s", spendingOf(b.Doubt[cause]), doubtful(cause)))
	}
	if len(notes) > 0 {
		notes = append(notes, "what is in doubt counts as spent; agentbench repair --release "+exit.ShellWord(dir)+" releases it")
	}
	return notes
}

// spendingOf is a usage in a few words.
func spendingOf(u record.Usage) string {
	text := []string{page.Plural(int(u.Calls), "call", "calls"), page.Plural(int(u.Tokens()), "token", "tokens")}
	if u.Priced() {
		text = append(text, page.USD(u.Cost.Dollars()))
	}
	return strings.Join(text, ", ")
}

// doubtful says what became of calls that may have cost something.
func doubtful(cause record.Cause) string {
	switch cause {
	case record.CauseUnreported:
		return "the server did not say what they used, or not in numbers that can be"
	case record.CauseInterrupted:
		return "in flight when their runs ended"
	case record.CauseKilled:
		return "in flight when the process ended"
	case record.CauseEarlier:
		return "an earlier version recorded no cause"
	case record.CauseLost:
		return "their entries in the ledger are damaged or missing"
	case record.CauseUnknown:
		return "they failed for an unknown cause"
	}
	return fmt.Sprintf("no whole answer came (%s)", cause)
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
