package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
)

// Ledger is what the budget of a suite was spent on: spent.jsonl of a result folder, which is only ever appended. A line is an entry, with
// a checksum as all lines have and a number that counts them:
//
//	{"crc":"…","seq":1,"role":"judge","reserved":{"calls":1,"output_tokens":100}}
//	{"crc":"…","seq":2,"of":1,"paid":{"calls":1,"output_tokens":7}}
//	{"crc":"…","seq":3,"released":{"calls":1}}
//
// A call is reserved before it is made, and settled when it is over. What was reserved and not settled is in doubt, as is what a call may have
// cost whose answer did not come: it counts as spent. A reservation is on disk before its call is made, and stays spent until its settlement
// is whole, so that a last line that is torn can be dropped: that never frees money.
//
// A ledger that is made of others, or of what is whole of a damaged one, begins with what they come to:
//
//	{"crc":"…","seq":41,"carried":{"paid":{…},"doubt":{…}}}
//
// Its number is that of the last entry that is known of what it carries: entries are never fewer than a manifest has noted.
//
// A Ledger is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	file    File
	buffer  []byte
	seq     int64
	account account
	err     error // the first write that failed
	closed  bool

	syncing sync.Mutex
	synced  int64 // entries that are on disk
}

// account is a sum of entries. Of both usages a part is judges'.
type account struct {
	Paid        Usage `json:"paid"`
	Doubt       Usage `json:"doubt"`
	JudgesPaid  Usage `json:"judges_paid,omitzero"`
	JudgesDoubt Usage `json:"judges_doubt,omitzero"`
}

func (a *account) add(role Role, paid, doubt Usage) {
	a.Paid, a.Doubt = a.Paid.Plus(paid), a.Doubt.Plus(doubt)
	if role == RoleJudge {
		a.JudgesPaid, a.JudgesDoubt = a.JudgesPaid.Plus(paid), a.JudgesDoubt.Plus(doubt)
	}
}

// undoubt takes back what was in doubt.
func (a *account) undoubt(role Role, doubt Usage) {
	if a.Doubt = a.Doubt.Minus(doubt); role == RoleJudge {
		a.JudgesDoubt = a.JudgesDoubt.Minus(doubt)
	}
}

// release takes back what was in doubt of any role, where it has become known what was spent of it.
func (a *account) release(doubt Usage, known Settlement) {
	a.Doubt = a.Doubt.Minus(doubt)
	a.JudgesDoubt = a.JudgesDoubt.Minus(a.JudgesDoubt.Minus(a.Doubt)) // no more than all
	a.add("", known.Paid, known.Doubt)
}

func (a *account) spent(entries int64) Spent {
	return Spent{a.Paid.Plus(a.Doubt), a.JudgesPaid.Plus(a.JudgesDoubt), entries}
}

// Spent is what was spent, with what is in doubt, and the part of it that judges spent. It may fall, when less was spent than was in doubt:
// how many entries tell it never does.
type Spent struct {
	Total   Usage `json:"total,omitzero"`
	Judges  Usage `json:"judges,omitzero"`
	Entries int64 `json:"entries,omitempty"`
}

// Settlement is what became of a call that was reserved for a role: what it is known to have used, and what it may have used at most.
type Settlement struct {
	Role  Role
	Paid  Usage
	Doubt Usage
}

// ledgerEntry is a line of a ledger.
type ledgerEntry struct {
	Seq      int64    `json:"seq"`
	Carried  *account `json:"carried,omitempty"`
	Role     Role     `json:"role,omitempty"` // whose call is reserved
	Reserved *Usage   `json:"reserved,omitempty"`
	Of       int64    `json:"of,omitempty"` // the reservation that is settled
	Released *Usage   `json:"released,omitempty"`
	Paid     Usage    `json:"paid,omitzero"`
	Doubt    Usage    `json:"doubt,omitzero"`
}

// OpenLedger opens the ledger of a folder, whose journal the caller holds, with the balance that was read of it. A last line that is torn is
// dropped. A damaged ledger is written anew, with what its whole entries come to.
func OpenLedger(dir string, b *Balance) (*Ledger, error) {
	disk, l := folder(dir), &Ledger{account: b.account, seq: b.entries, synced: b.entries}
	var err error
	switch {
	case b.rewrite:
		var line []byte
		l.seq = max(1, b.entries)
		if line, err = appendLine(nil, &ledgerEntry{Seq: l.seq, Carried: &b.account}); err == nil {
			err = replaceWith(disk, ledgerFile, line)
		}
		l.synced = l.seq
	case b.Kept:
		err = disk.Truncate(ledgerFile, b.whole)
	}
	if err == nil {
		l.file, err = disk.Append(ledgerFile)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return l, nil
}

// Reserve writes what a call may cost before it is made, and gives the number to settle it by. The call may be made once it is synced. After an
// error no call may be made any more.
func (l *Ledger) Reserve(role Role, u Usage) (entry int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.append(&ledgerEntry{Role: role, Reserved: &u}) {
		return 0, fmt.Errorf("writing what is spent: %w", l.err)
	}
	l.account.add(role, Usage{}, u)
	return l.seq, nil
}

// Settle writes what became of a call for which so much was reserved. Where it cannot, the call stays in doubt.
func (l *Ledger) Settle(entry int64, reserved Usage, s Settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.append(&ledgerEntry{Of: entry, Paid: s.Paid, Doubt: s.Doubt}) {
		l.account.undoubt(s.Role, reserved)
		l.account.add(s.Role, s.Paid, s.Doubt)
	}
}

// Correct takes back what was in doubt, where it has become known what was spent of it.
func (l *Ledger) Correct(doubt Usage, known Settlement) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.append(&ledgerEntry{Released: &doubt, Paid: known.Paid, Doubt: known.Doubt}) {
		l.account.release(doubt, known)
	}
	return l.err
}

// Spent is what was spent so far, with what calls in flight may cost.
func (l *Ledger) Spent() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account.spent(l.seq)
}

// append writes the next entry, and reports whether it is written. One that is not adds nothing to what was spent.
func (l *Ledger) append(e *ledgerEntry) bool {
	if l.err != nil {
		return false // what comes behind a torn line could not be read
	}
	e.Seq = l.seq + 1
	if l.buffer, l.err = appendLine(l.buffer[:0], e); l.err == nil {
		_, l.err = l.file.Write(l.buffer)
	}
	if l.err == nil {
		l.seq++
	}
	return l.err == nil
}

// Sync returns once all entries so far are on disk. Of those who ask at once, one syncs for all.
func (l *Ledger) Sync() error {
	l.mu.Lock()
	wanted := l.seq
	l.mu.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.synced >= wanted {
		return nil
	}
	l.mu.Lock()
	written, err := l.seq, l.err
	l.mu.Unlock()
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = errors.Join(l.err, err)
		return fmt.Errorf("writing what is spent: %w", err)
	}
	l.synced = written
	return nil
}

// Close returns the first error of all writes. Closed again, it does nothing.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.err
	l.err = errors.Join(l.err, errors.New("the ledger is closed"))
	if err := errors.Join(err, l.file.Sync(), l.file.Close()); err != nil {
		return fmt.Errorf("writing what was spent: %w", err)
	}
	return nil
}

// Balance is what a ledger says of a suite's budget.
type Balance struct {
	account
	// Kept means that there is a ledger, or was. Without one nothing was spent.
	Kept bool

	entries int64
	open    map[int64]ledgerEntry // those reserved and not settled, which are in Doubt, too
	whole   int64                 // bytes of the file that are whole
	rewrite bool                  // the ledger is to begin with this balance
}

// Spent is what was spent, with what is in doubt.
func (b *Balance) Spent() Spent { return b.account.spent(b.entries) }

// join adds another balance, for a ledger that is begun with both.
func (b *Balance) join(other *Balance) {
	b.rewrite, b.Kept, b.entries = true, b.Kept || other.Kept, b.entries+other.entries
	b.Paid, b.Doubt = b.Paid.Plus(other.Paid), b.Doubt.Plus(other.Doubt)
	b.JudgesPaid, b.JudgesDoubt = b.JudgesPaid.Plus(other.JudgesPaid), b.JudgesDoubt.Plus(other.JudgesDoubt)
}

// ReadLedger reads what the ledger of a folder comes to, whose manifest is given. A ledger that is damaged, or says less than the
// manifest has noted of it, is a *[Damage].
func ReadLedger(dir string, m *Manifest) (*Balance, error) {
	b, damage, err := readLedger(dir, m)
	if err == nil && len(damage) > 0 {
		err = damage[0]
	}
	return b, err
}

// readLedger passes over damage. The balance is then what whole entries come to, and what the manifest has noted beyond them is in
// doubt.
func readLedger(dir string, m *Manifest) (b *Balance, damage []*Damage, err error) {
	path := filepath.Join(dir, ledgerFile)
	b = &Balance{open: map[int64]ledgerEntry{}}
	f, err := openFile(path)
	switch {
	case err == nil:
		defer f.Close()
		b.Kept = true
		damage, err = b.read(path, f)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return b, nil, fmt.Errorf("reading what was spent: %w", err)
	}
	if noted := m.Volatile.Ledger; noted != nil {
		switch {
		case !b.Kept:
			damage = append(damage, &Damage{File: path, What: "it is missing"})
		case b.entries < noted.Entries:
			damage = append(damage, &Damage{File: path, What: "its end is missing: manifest.json knows of more that was spent"})
		}
		if b.Kept = true; len(damage) > 0 {
			b.entries = max(b.entries, noted.Entries)
			b.Doubt = b.Doubt.Plus(noted.Total.Minus(b.Spent().Total))
			b.JudgesDoubt = b.JudgesDoubt.Plus(noted.Judges.Minus(b.Spent().Judges))
		}
	}
	b.rewrite = len(damage) > 0
	return b, damage, nil
}

// read adds the whole entries of a ledger.
func (b *Balance) read(path string, in io.Reader) (damage []*Damage, err error) {
	for l, err := range allLines(in, 1, readEntry) {
		if err != nil {
			return nil, err
		}
		if l.damage == nil {
			if e := &l.is; e.Seq != b.entries+1 && (e.Carried == nil || b.entries > 0) && len(damage) == 0 {
				damage = append(damage, &Damage{path, l.line, fmt.Sprintf("entry %d follows entry %d", e.Seq, b.entries)})
			}
			b.add(&l.is)
			b.whole = l.offset + l.bytes
		} else if l.damage != errTorn {
			damage = append(damage, &Damage{path, l.line, l.damage.Error()})
		}
	}
	return damage, nil
}

func (b *Balance) add(e *ledgerEntry) {
	b.entries = e.Seq
	switch {
	case e.Carried != nil:
		b.account = *e.Carried
	case e.Released != nil:
		b.release(*e.Released, Settlement{Paid: e.Paid, Doubt: e.Doubt})
	case e.Reserved != nil:
		b.open[e.Seq] = *e
		b.account.add(e.Role, Usage{}, *e.Reserved)
	default:
		of := b.open[e.Of]
		delete(b.open, e.Of)
		if of.Reserved != nil {
			b.undoubt(of.Role, *of.Reserved)
		}
		b.account.add(of.Role, e.Paid, e.Doubt)
	}
}

func readEntry(object []byte) (ledgerEntry, error) {
	e, err := reading[ledgerEntry](object)
	if err == nil && (e.Seq < 1 || e.Paid.negative() || e.Doubt.negative() || e.Reserved != nil && e.Reserved.negative()) {
		err = errors.New("invalid entry")
	}
	return e, err
}
