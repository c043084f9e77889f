package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Ledger is what the budget of a suite was spent on: spent.jsonl of a result folder,
// which is only ever appended. A line is an entry, with a checksum as all lines have
// and a number that counts them:
//
//	{"crc":"…","seq":1,"v":1,"carried":{"paid":{…},"doubt":{…}},"cause":"begun"}
//	{"crc":"…","seq":2,"role":"judge","reserved":{"calls":1,"output_tokens":100}}
//	{"crc":"…","seq":3,"of":2,"paid":{"calls":1,"output_tokens":7},"cause":"answered"}
//	{"crc":"…","seq":4,"released":{"call_timeout":{…}},"cause":"repair"}
//
// A call is reserved before it is made and settled when it is over, so that a
// process that is killed has not spent more than the ledger says. What was reserved
// and not settled is in doubt, as is what a call may have cost whose answer did not
// come: it counts as spent.
//
// Its seal, spent.head, is one line that is written over at each reservation, and
// where a call cost more than was reserved. It says how many entries there are and what they come to at worst, so that an end
// that is missing is found, and what it said is not lost.
//
// Entries survive the process at once, and a crash of the machine once they are
// synced, at most 50 ms later.
type Ledger struct {
	mu     sync.Mutex
	file   File
	head   *os.File
	buffer []byte
	seq    int64
	all    account
	judges account // the part of it that is judges'
	err    error   // the first write that failed

	dirty   chan struct{} // holds an element where something is not synced
	closed  bool          // by Close
	closing chan struct{}
	ended   chan struct{} // the syncing goroutine has returned
}

// LedgerSeal says how many entries a ledger has and what they come to at worst; Judges is the part of it that is judges'.
type LedgerSeal struct {
	Entries int64 `json:"entries"`
	AtWorst Usage `json:"at_worst,omitzero"`
	Judges  Usage `json:"judges,omitzero"`
}

// account is a sum of entries.
type account struct {
	paid, doubt Usage
	open        Usage // reserved by calls in flight
}

func (a *account) spent() Usage   { return a.paid.Plus(a.doubt) }
func (a *account) atWorst() Usage { return a.spent().Plus(a.open) }

func (a *account) settle(reserved Usage, s *Settlement) {
	a.open, a.paid, a.doubt = a.open.Minus(reserved), a.paid.Plus(s.Paid), a.doubt.Plus(s.Doubt)
}

// Spent is what was spent, with what is in doubt, and the part of it that judges spent.
type Spent struct{ Total, Judges Usage }

// Cause says what became of a call, or why an entry was made that is no call's. It
// is one of these, or the ErrorClass that the call failed with.
type Cause string

// The causes.
const (
	CauseAnswered    Cause = "answered"
	CauseUnreported  Cause = "unreported"  // answered, but what it used was not told, or cannot be
	CauseUnsent      Cause = "never_sent"  // no byte of the call reached a server: it cost nothing
	CauseNotMade     Cause = "not_made"    // for instance because another budget had no room
	CauseInterrupted Cause = "interrupted" // in flight when the run ended
	CauseKilled      Cause = "killed"      // in flight when the process ended
	CauseUnknown     Cause = "unknown"     // failed in a way that has no class

	CauseBegun   Cause = "begun"          // the first entry of all
	CauseEarlier Cause = "earlier_format" // of a ledger that told no causes
	CauseLost    Cause = "lost"           // of entries that are damaged or missing
	CauseMerged  Cause = "merged"
	CauseRepair  Cause = "repair" // the user released it
)

// Settlement is what became of a call that was reserved for a role: either what it is known
// to have used, or what it may have used at most.
type Settlement struct {
	Role  Role
	Paid  Usage
	Doubt Usage
	Cause Cause
}

const ledgerVersion = 1

// OpenLedger opens the ledger of a folder, whose journal the caller holds, with the
// balance that was read of it. One that is not there is begun with that balance. One
// of the earlier format, or with damage, is written anew; what was damaged is kept
// in spent.damaged.jsonl.
func OpenLedger(dir string, b *Balance) (*Ledger, error) {
	l := &Ledger{all: account{paid: b.Paid, doubt: b.InDoubt()}, judges: b.judges, seq: b.entries, dirty: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{})}
	err := l.begin(dir, b)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the ledger: %w", err), l.closeFiles())
	}
	go l.syncing()
	return l, nil
}

func (l *Ledger) begin(dir string, b *Balance) (err error) {
	disk := folder(dir)
	if b.rewrite {
		err = l.carry(disk, b)
	} else {
		err = disk.Truncate(ledgerFile, b.good)
	}
	if err != nil {
		return err
	}
	if l.head, err = openRegular(filepath.Join(dir, ledgerHead), os.O_CREATE|os.O_WRONLY); err != nil {
		return err
	}
	if l.file, err = disk.Append(ledgerFile); err != nil {
		return err
	}
	for _, entry := range slices.Sorted(maps.Keys(b.open)) { // calls in flight when a process ended stay in doubt
		l.append(&ledgerEntry{Of: entry, Doubt: b.open[entry].Reserved, Cause: CauseKilled})
	}
	l.seal()
	return l.err
}

// carry writes the ledger anew: one entry that holds the balance. What was damaged is
// kept aside.
func (l *Ledger) carry(disk folder, b *Balance) error {
	if b.damaged {
		from, err := openFile(filepath.Join(string(disk), ledgerFile))
		if err == nil {
			defer from.Close()
			err = appendTo(disk, damagedLedger, func(w io.Writer) error { _, err := io.Copy(w, from); return err })
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.seq++
	line, err := l.line(&ledgerEntry{Version: ledgerVersion, Carried: &carried{b.Paid, withoutZeros(b.Doubt), b.judges.paid, b.judges.doubt}, Cause: b.why})
	if err != nil {
		return err
	}
	return replaceWith(disk, ledgerFile, line)
}

// Reserve puts down what a call may cost before it is made, and gives the number to
// settle it by. After an error no call may be made any more: it could not be told.
// It is safe for concurrent use.
func (l *Ledger) Reserve(role Role, u Usage) (entry int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.open = l.all.open.Plus(u)
	if role == RoleJudge {
		l.judges.open = l.judges.open.Plus(u)
	}
	l.append(&ledgerEntry{Role: role, Reserved: &u})
	l.seal()
	if l.err != nil {
		return 0, fmt.Errorf("writing what is spent: %w", l.err)
	}
	return l.seq, nil
}

// Settle puts down what became of a call for which so much was reserved. Where it
// cannot, the call stays in doubt.
func (l *Ledger) Settle(entry int64, reserved Usage, s Settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.settle(reserved, &s)
	if s.Role == RoleJudge {
		l.judges.settle(reserved, &s)
	}
	e := ledgerEntry{Of: entry, Paid: &s.Paid, Cause: s.Cause}
	if s.Doubt != (Usage{}) {
		e.Paid, e.Doubt = nil, &s.Doubt
	}
	l.append(&e)
	if s.Paid.Plus(s.Doubt).Minus(reserved) != (Usage{}) {
		l.seal() // the last seal did not foresee it, and this entry may be lost
	}
}

// Release releases all that is in doubt, but for what is proven to be paid of it.
func (l *Ledger) Release(b *Balance, paid Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	doubt := withoutZeros(b.Doubt)
	more := b.prove(paid)
	l.all.paid, l.all.doubt, l.judges.doubt = l.all.paid.Plus(more), Usage{}, Usage{}
	l.append(&ledgerEntry{Released: doubt, Paid: &more, Cause: CauseRepair})
	l.seal()
}

// Correct takes back what was in doubt for a cause, where it has become known what was
// spent of it.
func (l *Ledger) Correct(cause Cause, doubted Usage, known Settlement) error {
	if known.Doubt != (Usage{}) {
		entry, err := l.Reserve("", known.Doubt)
		if err != nil {
			return err
		}
		l.Settle(entry, known.Doubt, Settlement{Doubt: known.Doubt, Cause: known.Cause})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.paid, l.all.doubt = l.all.paid.Plus(known.Paid), l.all.doubt.Minus(doubted)
	l.append(&ledgerEntry{Released: map[Cause]Usage{cause: doubted}, Paid: &known.Paid, Cause: known.Cause})
	l.seal()
	return l.err
}

// Sealed is the seal as it is now, for the manifest.
func (l *Ledger) Sealed() LedgerSeal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LedgerSeal{Entries: l.seq, AtWorst: l.all.atWorst(), Judges: l.judges.atWorst()}
}

// Spent is what was spent so far; calls in flight are not in it.
func (l *Ledger) Spent() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Spent{l.all.spent(), l.judges.spent()}
}

// append writes the next entry.
func (l *Ledger) append(e *ledgerEntry) {
	if l.err != nil {
		return // what comes behind a torn line could not be read
	}
	l.seq++
	var line []byte
	if line, l.err = l.line(e); l.err == nil {
		_, l.err = l.file.Write(line)
	}
	l.touched()
}

// line is the entry with the current number; it is valid until the next one.
func (l *Ledger) line(e *ledgerEntry) (line []byte, err error) {
	e.Seq = l.seq
	l.buffer, err = appendLine(l.buffer[:0], e)
	return l.buffer, err
}

// seal writes the seal over the last one. What a longer one leaves behind it is not
// read.
func (l *Ledger) seal() {
	if l.err != nil {
		return
	}
	atWorst, judges := l.all.atWorst(), l.judges.atWorst()
	var line []byte
	if line, l.err = l.line(&ledgerEntry{AtWorst: &atWorst, Judges: judges}); l.err == nil {
		_, l.err = l.head.WriteAt(line, 0)
	}
	l.touched()
}

func withoutZeros(by map[Cause]Usage) map[Cause]Usage {
	kept := maps.Clone(by)
	maps.DeleteFunc(kept, func(_ Cause, u Usage) bool { return u == Usage{} })
	return kept
}

func (l *Ledger) touched() {
	select {
	case l.dirty <- struct{}{}:
	default: // it will be synced as it is
	}
}

// syncing syncs what was written, as often as the journal does.
func (l *Ledger) syncing() {
	defer close(l.ended)
	for {
		select {
		case <-l.dirty:
		case <-l.closing:
			return
		}
		timer := time.NewTimer(defaultDelay)
		select {
		case <-timer.C:
		case <-l.closing:
		}
		timer.Stop()
		if err := errors.Join(l.file.Sync(), l.head.Sync()); err != nil {
			l.mu.Lock()
			l.err = errors.Join(l.err, err)
			l.mu.Unlock()
		}
	}
}

// Close seals the ledger and returns the first error of all writes. Closed again, it does nothing.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.seal()
	err := l.err
	l.err = errors.Join(l.err, errors.New("the ledger is closed"))
	l.mu.Unlock()
	close(l.closing)
	<-l.ended
	if err := errors.Join(err, l.file.Sync(), l.head.Sync(), l.closeFiles()); err != nil {
		return fmt.Errorf("writing what was spent: %w", err)
	}
	return nil
}

func (l *Ledger) closeFiles() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	if l.head != nil {
		err = errors.Join(err, l.head.Close())
	}
	return err
}

// Evidence is what the records and scores of a folder prove of what was spent,
// where its ledger does not tell.
type Evidence struct {
	// Paid is what answered calls used, and what scores took.
	Paid Usage
	// Unsent counts by model the attempts that reached no server. Of a call that was
	// tried several times the last attempt is known, and no other.
	Unsent map[string]int64
}

// EvidenceOf reads the records and scores of a folder, as far as they are sound.
func EvidenceOf(dir string) (Evidence, error) {
	found := Evidence{Unsent: map[string]int64{}}
	type called struct {
		Iterations []struct {
			Calls []Call `json:"calls"`
		} `json:"iterations"`
	}
	for l, err := range Sound(fileLines(dir, recordsFile, reading[called])) {
		if err != nil {
			return found, fmt.Errorf("looking for what was paid: %w", err)
		}
		for i := range l.is.Iterations {
			for c := range l.is.Iterations[i].Calls {
				found.add(&l.is.Iterations[i].Calls[c])
			}
		}
	}
	type paid struct {
		Usage Usage `json:"usage"`
	}
	type scored struct {
		Scores []paid `json:"scores"`
	}
	for l, err := range Sound(fileLines(dir, scoresFile, reading[scored])) {
		if err != nil {
			return found, fmt.Errorf("looking for what was paid: %w", err)
		}
		for i := range l.is.Scores {
			found.Paid = found.Paid.Plus(l.is.Scores[i].Usage)
		}
	}
	return found, nil
}

func (e *Evidence) add(c *Call) {
	switch {
	case c.Cached:
	case c.Error == nil:
		e.Paid = e.Paid.Plus(c.Usage)
	case c.Unsent > 0:
		e.Unsent[c.Model] += int64(c.Unsent)
	}
}

// Balance is what a ledger says of a suite's budget.
type Balance struct {
	// Kept means that there is a ledger. Without one nothing is known to be spent.
	Kept bool
	Paid Usage
	// Doubt is what calls may have used whose answers did not come, by what became of
	// them. It counts as spent.
	Doubt map[Cause]Usage
	// Damage is what was wrong with the ledger. What damaged and missing entries came
	// to is known from the seal, and is in doubt.
	Damage []error
	// Earlier means that the ledger is of the format that told no causes: all of it is
	// in doubt.
	Earlier bool

	judges  account               // the part that is judges'
	entries int64                 // the number of the last one
	open    map[int64]ledgerEntry // those reserved and not settled, which are in Doubt, too
	good    int64                 // bytes of the file that are whole
	rewrite bool                  // it is to be written anew
	damaged bool                  // and what it was is to be kept
	why     Cause
}

// LostLedger means that it is unknown what was spent: neither the ledger nor its seal
// can be read.
type LostLedger struct {
	Dir, What string
}

func (e *LostLedger) Error() string { return "what was spent of the budget is unknown: " + e.What }

// InDoubt is all that is in doubt.
func (b *Balance) InDoubt() (sum Usage) {
	for _, u := range b.Doubt {
		sum = sum.Plus(u)
	}
	return sum
}

// atWorst is what counts as spent.
func (b *Balance) atWorst() Usage { return b.Paid.Plus(b.InDoubt()) }

// Causes are those of what is in doubt, in a fixed order.
func (b *Balance) Causes() []Cause { return slices.Sorted(maps.Keys(withoutZeros(b.Doubt))) }

// Split says of a ledger of the earlier format what of it was paid, and what is
// certain not to have been spent. What was paid may be more than there is: some of it
// was paid when there was no ledger.
func (b *Balance) Split(paid, unspent Usage) {
	left := b.Doubt[CauseEarlier].Minus(unspent)
	b.Paid = paid
	b.Doubt = map[Cause]Usage{CauseEarlier: left.Minus(b.Paid)}
}

// prove counts as paid what records and scores prove, where the ledger has lost the
// entries that said so. It returns what that was.
func (b *Balance) prove(paid Usage) Usage {
	more := paid.Minus(b.Paid)
	if more != (Usage{}) {
		b.Paid, b.Doubt = b.Paid.Plus(more), map[Cause]Usage{CauseLost: b.InDoubt().Minus(more)}
	}
	return more
}

// join adds another balance, for a ledger that is begun with both.
func (b *Balance) join(other *Balance) {
	b.rewrite, b.why = true, CauseMerged
	b.Kept = b.Kept || other.Kept
	b.Paid = b.Paid.Plus(other.Paid)
	b.judges.settle(Usage{}, &Settlement{Paid: other.judges.paid, Doubt: other.judges.doubt})
	if b.Doubt == nil {
		b.Doubt = map[Cause]Usage{}
	}
	for cause, u := range other.Doubt {
		b.Doubt[cause] = b.Doubt[cause].Plus(u)
	}
}

// ReadLedger reads what the ledger of a folder comes to, whose manifest is given.
// Where the file, its seal and what the manifest has noted of it contradict each
// other, what is missing counts as spent. The error is a *LostLedger where that
// is unknown.
func ReadLedger(dir string, m *Manifest) (*Balance, error) {
	b := &Balance{Doubt: map[Cause]Usage{}, open: map[int64]ledgerEntry{}, rewrite: true, why: CauseBegun}
	s := seals{noted: m.Volatile.Ledger, final: m.Status != StateRunning}
	if s.head, s.err = readLedgerHead(dir); s.err != nil && !isDamage(s.err) && !errors.Is(s.err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading what was spent: %w", s.err)
	}
	f, err := openFile(filepath.Join(dir, ledgerFile))
	if errors.Is(err, fs.ErrNotExist) {
		if b.Kept = s.head != nil || s.noted != nil || isDamage(s.err); !b.Kept {
			return b, nil
		}
		return b, b.without(dir, ledgerFile+": it is missing", &s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	defer f.Close()
	b.Kept = true
	if s.head == nil && s.noted == nil && b.earlier(f) {
		return b, nil
	}
	for l, err := range walk(ledgerFile, f, place{}, readEntry) {
		if err == nil {
			err = b.entry(l)
		}
		switch {
		case err == nil:
			b.good = l.end().offset
		case isDamage(err):
			b.Damage = append(b.Damage, err)
		default:
			return nil, fmt.Errorf("reading what was spent: %w", err)
		}
	}
	return b, b.check(dir, &s)
}

// seals are what else is known of a ledger than its entries.
type seals struct {
	head  *LedgerSeal // nil: it cannot be read, and err is why
	err   error
	noted *LedgerSeal // by the manifest; nil: nothing
	final bool        // noted when the last session ended
}

// best is the seal that knows of as many entries as were read, or more; nil where
// none can be relied on.
func (s *seals) best(entries int64) *LedgerSeal {
	best := s.head
	if s.final && s.noted != nil && s.noted.Entries >= entries && (best == nil || s.noted.Entries > best.Entries) {
		best = s.noted
	}
	return best
}

// most is how many entries there were at least.
func (s *seals) most() (entries int64) {
	for _, seal := range []*LedgerSeal{s.head, s.noted} {
		if seal != nil {
			entries = max(entries, seal.Entries)
		}
	}
	return entries
}

// earlier reads the one line that the earlier format had.
func (b *Balance) earlier(f io.ReaderAt) bool {
	const longest = 512 // more than it ever took
	text := make([]byte, longest+1)
	n, err := f.ReadAt(text, 0)
	seal, wrong := readSeal(ledgerFile, text[:n])
	if err != io.EOF || wrong != nil {
		return false
	}
	b.Earlier, b.why = true, CauseEarlier
	b.Doubt[CauseEarlier] = seal.AtWorst
	return true
}

// entry adds an entry.
func (b *Balance) entry(l *line[ledgerEntry]) (gap error) {
	e := &l.is
	switch missing := e.Seq - b.entries - 1; {
	case e.Carried != nil && b.entries == 0:
	case missing < 0:
		return l.problem(ledgerFile, fmt.Errorf("entry %d comes after entry %d", e.Seq, b.entries))
	case missing > 0 && len(b.Damage) == 0:
		gap = l.problem(ledgerFile, fmt.Errorf("%d entries before it are missing", missing))
	}
	b.entries = e.Seq
	switch {
	case e.Carried != nil:
		b.Paid, b.Doubt = e.Carried.Paid, e.Carried.Doubt
		b.judges.paid, b.judges.doubt = e.Carried.JudgesPaid, e.Carried.JudgesDoubt
		if b.Doubt == nil {
			b.Doubt = map[Cause]Usage{}
		}
	case e.Released != nil:
		b.Paid = b.Paid.Plus(amount(e.Paid))
		for cause, u := range e.Released {
			b.Doubt[cause] = b.Doubt[cause].Minus(u)
		}
		if e.Cause == CauseRepair {
			b.judges.doubt = Usage{}
		}
	case e.Reserved != nil:
		b.open[e.Seq] = *e
		b.Doubt[CauseKilled] = b.Doubt[CauseKilled].Plus(*e.Reserved)
		if e.Role == RoleJudge {
			b.judges.doubt = b.judges.doubt.Plus(*e.Reserved)
		}
	default:
		if of, known := b.open[e.Of]; known {
			delete(b.open, e.Of)
			b.Doubt[CauseKilled] = b.Doubt[CauseKilled].Minus(*of.Reserved)
			if of.Role == RoleJudge {
				b.judges.doubt = b.judges.doubt.Minus(*of.Reserved)
				b.judges.settle(Usage{}, &Settlement{Paid: amount(e.Paid), Doubt: amount(e.Doubt)})
			}
		}
		b.Paid = b.Paid.Plus(amount(e.Paid))
		b.Doubt[e.Cause] = b.Doubt[e.Cause].Plus(amount(e.Doubt))
	}
	return gap
}

// amount is nothing where an entry does not tell it.
func amount(u *Usage) Usage {
	if u == nil {
		return Usage{}
	}
	return *u
}

// check compares the entries with what the seals say of them.
func (b *Balance) check(dir string, s *seals) error {
	torn := len(b.Damage) == 1 && isTorn(b.Damage[0])
	switch {
	case s.most() > b.entries:
		return b.without(dir, fmt.Sprintf(ledgerFile+": of %d entries %d are there", s.most(), b.entries), s)
	case torn && s.head != nil: // a call that was never made, or was over and is in doubt
	case len(b.Damage) > 0 || b.entries == 0:
		return b.without(dir, "", s)
	case s.head == nil: // the end of the entries may be missing as well
		what := ledgerHead + ": it is missing"
		if isDamage(s.err) {
			what = ledgerHead + ": it cannot be read"
		}
		if s.best(b.entries) != nil {
			b.Damage = append(b.Damage, errors.New(what+"; all entries that it is to seal are whole"))
			break
		}
		// A ledger that was begun and not used yet has its first entry alone, and nothing tells of more.
		if b.entries > 1 || s.noted != nil {
			return b.without(dir, what+", and the end of "+ledgerFile+" may be missing as well", s)
		}
		proven, err := EvidenceOf(dir)
		if err != nil {
			return err
		}
		if proven.Paid.Minus(b.atWorst()) != (Usage{}) {
			return b.without(dir, what+", and the end of "+ledgerFile+" may be missing as well", s)
		}
	}
	b.rewrite = false
	return nil
}

// without makes the most of a ledger of which entries are missing: what a seal says
// beyond those that are there is in doubt.
func (b *Balance) without(dir, what string, s *seals) error {
	if what != "" {
		b.Damage = append(b.Damage, errors.New(what))
	}
	known := s.best(b.entries)
	b.entries, b.open = max(b.entries, s.most()), map[int64]ledgerEntry{}
	if known == nil {
		if len(b.Damage) == 0 {
			b.Damage = append(b.Damage, fmt.Errorf("%s: it is empty", ledgerFile))
		}
		return &LostLedger{Dir: dir, What: errors.Join(b.Damage...).Error()}
	}
	b.rewrite, b.damaged, b.why = true, true, CauseLost
	b.Doubt[CauseLost] = b.Doubt[CauseLost].Plus(known.AtWorst.Minus(b.atWorst()))
	return nil
}

// ledgerEntry is a line of a ledger, and its seal, which tells AtWorst alone.
type ledgerEntry struct {
	Seq      int64           `json:"seq"`
	Version  int64           `json:"v,omitempty"`
	Of       int64           `json:"of,omitempty"`
	Role     Role            `json:"role,omitempty"` // whose call is reserved
	Reserved *Usage          `json:"reserved,omitempty"`
	Carried  *carried        `json:"carried,omitempty"`
	Released map[Cause]Usage `json:"released,omitzero"`
	Doubt    *Usage          `json:"doubt,omitempty"`
	Paid     *Usage          `json:"paid,omitempty"`
	Cause    Cause           `json:"cause,omitempty"`
	AtWorst  *Usage          `json:"at_worst,omitempty"`
	Judges   Usage           `json:"judges,omitzero"` // of AtWorst
}

// carried is the balance that a ledger begins with.
type carried struct {
	Paid  Usage           `json:"paid"`
	Doubt map[Cause]Usage `json:"doubt"`
	// The parts of both that are judges'.
	JudgesPaid  Usage `json:"judges_paid,omitzero"`
	JudgesDoubt Usage `json:"judges_doubt,omitzero"`
}

func readEntry(object []byte) (ledgerEntry, error) {
	e, err := reading[ledgerEntry](object)
	switch {
	case err != nil:
		return e, err
	case e.Version > ledgerVersion:
		return e, fmt.Errorf("it was written by a newer agentbench (format %d, this one knows %d)", e.Version, ledgerVersion)
	case e.Seq < 1 || amount(e.Paid).negative() || amount(e.Doubt).negative() || amount(e.Reserved).negative() || e.Carried != nil && e.Carried.Paid.negative():
		return e, errors.New("invalid entry")
	}
	return e, nil
}

// SealOf is the seal of a folder's ledger as it is now, or else what the manifest has noted
// of it; nil: there is none.
func SealOf(dir string, m *Manifest) *LedgerSeal {
	if seal, err := readLedgerHead(dir); err == nil {
		return seal
	}
	return m.Volatile.Ledger
}

// readLedgerHead reads the seal beside a ledger; an error is a *Problem, or
// fs.ErrNotExist.
func readLedgerHead(dir string) (*LedgerSeal, error) {
	text, err := readWhole(filepath.Join(dir, ledgerHead))
	if err != nil {
		return nil, err
	}
	return readSeal(ledgerHead, text)
}

// readSeal reads the first line of a text; what a longer seal left behind it counts for nothing.
func readSeal(file string, text []byte) (*LedgerSeal, error) {
	object, err := objectOf(file, text[:bytes.IndexByte(text, '\n')+1], place{})
	if err != nil {
		return nil, err
	}
	e, err := reading[ledgerEntry](object)
	if err != nil || e.AtWorst == nil || e.AtWorst.negative() {
		return nil, &Problem{File: file, Line: 1, Lines: 1, Bytes: int64(len(text)), What: "it is not the seal of a ledger"}
	}
	return &LedgerSeal{Entries: e.Seq, AtWorst: *e.AtWorst, Judges: e.Judges}, nil
}
