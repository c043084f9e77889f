package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// LedgerTables are the tables of a ledger.
var LedgerTables = []string{"budget"}

// Ledger is the page of what of a suite's budget was paid, what is in doubt, and what is
// free; so many of the planned runs are made. Release is the command that releases what is
// in doubt.
func Ledger(m *record.Manifest, made int, b *spec.SuiteBudget, balance *record.Balance, release string) *page.Sheet {
	sheet := &page.Sheet{
		Kind: "ledger", Suite: m.Suite,
		Head: page.Words(fmt.Sprintf("%s: %d of %s are made", page.Foreign(m.Suite), made, page.Plural(m.Totals.Planned, "run", "runs"))),
		List: []page.Table{page.TableOf("budget", "Budget", resourceFields, slices.Values(resourcesOf(b, balance)))},
	}
	if balance.Doubt != (record.Usage{}) {
		sheet.Notes = append(sheet.Notes, page.Words("what is in doubt counts as spent; "+page.Foreign(release)+" releases it"))
	}
	return sheet
}

// resource is one of those that a budget limits.
type resource struct {
	name               string
	limit, paid, doubt int64
	cell               func(int64) page.Cell
}

func resourcesOf(b *spec.SuiteBudget, balance *record.Balance) []resource {
	paid, doubt := balance.Paid, balance.Doubt
	usd := func(n int64) page.Cell {
		amount := record.Money(n).Dollars()
		return page.Cell{Text: page.USD(amount), Raw: amount}
	}
	return []resource{
		{"calls", b.Calls, paid.Calls, doubt.Calls, whole},
		{"tokens", b.Tokens, paid.Tokens(), doubt.Tokens(), whole},
		{"cost", int64(pace.OfSuite(*b).Limits().Cost), int64(paid.Cost), int64(doubt.Cost), usd},
	}
}

var resourceFields = []page.Field[resource]{
	{Column: page.Column{Head: "budget", Key: "budget"}, Cell: func(r resource) page.Cell { return page.Text(r.name) }},
	{Column: page.Column{Head: "limit", Key: "limit", Right: true}, Cell: func(r resource) page.Cell { return r.limited(r.limit) }},
	{Column: page.Column{Head: "paid", Key: "paid", Right: true}, Cell: func(r resource) page.Cell { return r.cell(r.paid) }},
	{Column: page.Column{Head: "in doubt", Key: "in_doubt", Right: true}, Cell: func(r resource) page.Cell { return r.cell(r.doubt) }},
	{Column: page.Column{Head: "free", Key: "free", Right: true}, Cell: func(r resource) page.Cell { return r.limited(max(0, r.limit-r.paid-r.doubt)) }},
}

// limited is a number that exists only with a limit.
func (r resource) limited(n int64) page.Cell {
	if r.limit == 0 {
		return page.Cell{Text: page.Nothing}
	}
	return r.cell(n)
}

// Spending is a usage in a few words.
func Spending(u record.Usage) string {
	text := []string{page.Plural(int(u.Calls), "call", "calls"), page.Plural(int(u.Tokens()), "token", "tokens")}
	if u.Priced() {
		text = append(text, page.USD(u.Cost.Dollars()))
	}
	return strings.Join(text, ", ")
}

// Spent is what was spent of a budget, by its scarcest resource: spent $0.42 of $10.00 (agents $0.00, judges $0.42).
// Without a budget it is money.
func Spent(s record.Spent, of *spec.SuiteBudget) string {
	amount, limit, unit := func(u record.Usage) string { return fmt.Sprint(u.Calls) }, fmt.Sprint(of.Calls), " calls"
	switch isMoney := of.CostUSD > 0 || of.Calls == 0 && of.Tokens == 0; {
	case isMoney:
		amount, limit, unit = money, page.USD(of.CostUSD), ""
	case of.Calls == 0 && of.Tokens > 0:
		amount, limit, unit = func(u record.Usage) string { return fmt.Sprint(u.Tokens()) }, fmt.Sprint(of.Tokens), " tokens"
	}
	text := "spent " + amount(s.Total)
	if of.CostUSD > 0 || of.Calls > 0 || of.Tokens > 0 {
		text += " of " + limit
	}
	text += unit
	if s.Judges != (record.Usage{}) {
		text += " (agents " + amount(s.Total.Minus(s.Judges)) + ", judges " + amount(s.Judges) + ")"
	}
	return text
}

// money is the cost of a usage, a lower bound where some of it is unknown.
func money(u record.Usage) string {
	switch text := page.USD(u.Cost.Dollars()); {
	case u.Priced():
		return text
	case u.Cost == 0:
		return "an unknown amount"
	default:
		return "at least " + text
	}
}

// Released says what was released.
func Released(dir string, b *record.Balance) string {
	switch doubt := b.Doubt; {
	case !b.Kept:
		return dir + ": no ledger, and nothing is in doubt\n"
	case doubt == record.Usage{}:
		return fmt.Sprintf("%s: nothing is in doubt; %s are paid\n", dir, Spending(b.Paid))
	default:
		return fmt.Sprintf("%s: released %s; %s are paid\n", dir, Spending(doubt), Spending(b.Paid))
	}
}

// States tells what is wrong with the states of workspaces: what cannot be read of them, the
// moments of runs that cannot be restored, and the folders that a killed session left.
func States(faults []error, lost, left []string, look bool) string {
	var b strings.Builder
	for _, fault := range faults {
		fmt.Fprintf(&b, "workspaces: %v\n", fault)
	}
	for _, moment := range lost {
		fmt.Fprintf(&b, "its workspace cannot be restored: %s\n", page.Visible(moment))
	}
	if len(lost) > 0 {
		b.WriteString("agentbench run SUITE with another --out makes these runs again\n")
	}
	if len(left) > 0 {
		verb := "removed"
		if look {
			verb = "to be removed"
		}
		fmt.Fprintf(&b, "workspaces: %s of runs that were killed; %s\n", page.Plural(len(left), "folder", "folders"), verb)
	}
	return b.String()
}

// Pruned tells how many bytes of states were removed.
func Pruned(freed int64) string {
	if freed <= 0 {
		return "workspaces: every state is one of a run\n"
	}
	return fmt.Sprintf("workspaces: removed %s of states that no run has any more\n", page.Bytes(freed))
}

// Repaired tells the damage of a folder and what became of it; word is the folder as a shell
// takes it, states what States tells.
func Repaired(dir, word string, r *record.Repaired, states string, look bool) string {
	kept := page.Plural(r.Kept, "record is", "records are") + " whole"
	switch {
	case r.Whole() && states == "":
		return fmt.Sprintf("%s: %s, and nothing is damaged\n", dir, kept)
	case r.Whole():
		return fmt.Sprintf("%s%s: %s\n", states, dir, kept)
	}
	var b strings.Builder
	verb := func(done string) string {
		if look {
			return "to be " + done
		}
		return done
	}
	for _, damage := range r.Damage {
		fmt.Fprintln(&b, damage)
	}
	if r.Ledger != nil {
		fmt.Fprintf(&b, "the ledger %s with its whole entries: %s are paid, %s in doubt\n", verb("begun anew"), Spending(r.Ledger.Paid), Spending(r.Ledger.Doubt))
	}
	fmt.Fprintf(&b, "%s%s: %s", states, dir, kept)
	if r.Moved > 0 {
		fmt.Fprintf(&b, ", %s %s to records.damaged.jsonl", page.Plural(r.Moved, "line", "lines"), verb("moved"))
	}
	if r.Unscored > 0 {
		fmt.Fprintf(&b, ", %s of scores %s", page.Plural(r.Unscored, "line", "lines"), verb("dropped"))
	}
	b.WriteString("\n")
	for _, id := range r.Lost {
		fmt.Fprintf(&b, "lost: %s\n", page.Visible(id))
	}
	if r.Moved > 0 || r.Unscored > 0 {
		fmt.Fprintf(&b, "agentbench run SUITE --out %s makes what is missing again\n", word)
	}
	return b.String()
}
