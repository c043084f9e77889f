package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Balance is what a ledger says of a suite's budget.
type Balance struct {
	// Kept says that there is a ledger. Without one nothing is known to be spent.
	Kept bool
	Paid Usage
	// Doubt is what calls may have used whose answers did not come, by what became of
	// them. It counts as spent.
	Doubt map[Cause]Usage
	// Damage is what was wrong with the ledger. What damaged and missing entries came
	// to is known from the seal, and is in doubt.
	Damage []error
	// Earlier says that the ledger is of the format that told no causes: all of it is
	// in doubt.
	Earlier bool

	entries int64           // the number of the last one
	open    map[int64]Usage // those reserved and not settled, which are in Doubt, too
	good    int64           // bytes of the file that are whole
	rewrite bool            // it is to be written anew
	damaged bool            // and what it was is to be kept
	why     Cause
}

// LostLedger says that it is unknown what was spent: neither the ledger nor its seal
// can be read.
type LostLedger struct {
	Dir, What string
}

// Error names the folder.
func (e *LostLedger) Error() string {
	return fmt.Sprintf("what was spent of the budget is unknown: %s", e.What)
}

// InDoubt is all that is in doubt.
func (b *Balance) InDoubt() (sum Usage) {
	for _, u := range b.Doubt {
		sum = sum.Plus(u)
	}
	return sum
}

// AtWorst is what counts as spent.
func (b *Balance) AtWorst() Usage { return b.Paid.Plus(b.InDoubt()) }

// Causes are those of what is in doubt, in a fixed order.
func (b *Balance) Causes() []Cause { return causes(b.Doubt) }

func causes(by map[Cause]Usage) []Cause {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(c Cause) bool { return by[c] == Usage{} })
}

// dangling are the entries that reserve what was never settled, in their order.
func (b *Balance) dangling() []int64 { return slices.Sorted(maps.Keys(b.open)) }

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
// cannot be told.
func ReadLedger(dir string, m *Manifest) (*Balance, error) {
	b := &Balance{Doubt: map[Cause]Usage{}, open: map[int64]Usage{}, rewrite: true, why: CauseBegun}
	seals := seals{noted: m.Volatile.Ledger, final: m.Status != StateRunning}
	if seals.head, seals.err = readLedgerHead(dir); seals.err != nil && !isDamage(seals.err) && !errors.Is(seals.err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading what was spent: %w", seals.err)
	}
	f, err := openFile(filepath.Join(dir, ledgerFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if b.Kept = seals.any(); !b.Kept {
			return b, nil
		}
		return b, b.without(dir, ledgerFile+": it is missing", &seals)
	case err != nil:
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	defer f.Close()
	b.Kept = true
	if seals.head == nil && seals.noted == nil && b.earlier(f) {
		return b, nil
	}
	if err := b.fold(f); err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	return b, b.check(dir, &seals)
}

// seals are what else is known of a ledger than its entries.
type seals struct {
	head  *LedgerSeal // nil: it cannot be read, and err is why
	err   error
	noted *LedgerSeal // by the manifest; nil: nothing
	final bool        // noted when the last session ended
}

// any reports whether there is, or was, a ledger.
func (s *seals) any() bool { return s.head != nil || s.noted != nil || isDamage(s.err) }

// best is the seal that knows of as many entries as were read, or more; nil where
// there is none that can be relied on.
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
	text := make([]byte, longestEarlier+1)
	n, err := f.ReadAt(text, 0)
	line, _, whole := bytes.Cut(text[:n], []byte{'\n'})
	if err != io.EOF || !whole {
		return false
	}
	object, err := unseal(line)
	if err != nil {
		return false
	}
	u, found, err := readAtWorst(object, new(int64))
	if err != nil || !found || u.negative() {
		return false
	}
	b.Earlier, b.why = true, CauseEarlier
	b.Doubt[CauseEarlier] = u
	return true
}

// longestEarlier is more than the earlier format ever took.
const longestEarlier = 512

// fold adds the entries up, as far as they are good.
func (b *Balance) fold(f io.Reader) error {
	in := new(reader)
	for o, err := range scan(ledgerFile, f, place{}) {
		if err == nil {
			err = b.entry(&o, in)
		}
		switch {
		case err == nil:
			b.good = o.end().offset
		case isDamage(err):
			b.Damage = append(b.Damage, err)
		default:
			return err
		}
	}
	return nil
}

// entry adds an entry.
func (b *Balance) entry(o *object, in *reader) error {
	e := ledgerEntry{}
	if err := e.read(in, o.json); err != nil {
		return o.problem(ledgerFile, err)
	}
	var gap error
	switch missing := e.seq - b.entries - 1; {
	case e.carried && b.entries == 0:
	case missing < 0:
		return o.problem(ledgerFile, fmt.Errorf("entry %d comes after entry %d", e.seq, b.entries))
	case missing > 0 && len(b.Damage) == 0:
		gap = o.problem(ledgerFile, fmt.Errorf("%d entries before it are missing", missing))
	}
	b.entries = e.seq
	b.add(&e)
	return gap
}

func (b *Balance) add(e *ledgerEntry) {
	switch {
	case e.carried:
		b.Paid, b.Doubt = e.paid, e.by
	case e.released != nil:
		b.Paid = b.Paid.Plus(e.paid)
		for cause, u := range e.released {
			b.Doubt[cause] = b.Doubt[cause].Minus(u)
		}
	case e.reserved:
		b.open[e.seq] = e.doubt
		b.Doubt[CauseKilled] = b.Doubt[CauseKilled].Plus(e.doubt)
	default:
		if reserved, known := b.open[e.of]; known {
			delete(b.open, e.of)
			b.Doubt[CauseKilled] = b.Doubt[CauseKilled].Minus(reserved)
		}
		b.Paid = b.Paid.Plus(e.paid)
		b.Doubt[e.cause] = b.Doubt[e.cause].Plus(e.doubt)
	}
}

// check compares the entries with what the seals say of them.
func (b *Balance) check(dir string, s *seals) error {
	torn := len(b.Damage) == 1 && isTorn(b.Damage[0])
	switch {
	case s.most() > b.entries:
		return b.without(dir, fmt.Sprintf(ledgerFile+": of %d entries %d are there", s.most(), b.entries), s)
	case torn && s.head != nil: // a call that was never made, or was over and is in doubt
		b.rewrite = false
		return nil
	case len(b.Damage) > 0 || b.entries == 0:
		return b.without(dir, "", s)
	}
	if s.head == nil {
		return b.unsealed(dir, s)
	}
	b.rewrite = false
	return nil
}

// unsealed is a ledger of whole entries without a seal. An end of it may be missing as
// well, unless the manifest tells how many entries there were, or it was just begun.
func (b *Balance) unsealed(dir string, s *seals) error {
	what := ledgerHead + ": it is missing"
	if isDamage(s.err) {
		what = ledgerHead + ": it cannot be read"
	}
	if s.best(b.entries) == nil {
		begun, err := b.begun(dir, s)
		if err != nil {
			return err
		}
		if !begun {
			return b.without(dir, what+", and the end of "+ledgerFile+" may be missing as well", s)
		}
	} else {
		b.Damage = append(b.Damage, errors.New(what+"; all entries that it is to seal are whole"))
	}
	b.rewrite = false
	return nil
}

// begun reports whether a ledger was begun and not used yet: it has its first entry
// alone, and nothing else tells of more.
func (b *Balance) begun(dir string, s *seals) (bool, error) {
	if b.entries > 1 || s.noted != nil {
		return false, nil
	}
	proven, err := EvidenceOf(dir)
	return proven.Paid.Minus(b.AtWorst()) == Usage{}, err
}

// without makes the most of a ledger of which entries are missing: what a seal says
// beyond those that are there is in doubt.
func (b *Balance) without(dir, what string, s *seals) error {
	if what != "" {
		b.Damage = append(b.Damage, errors.New(what))
	}
	known := s.best(b.entries)
	b.entries, b.open = max(b.entries, s.most()), map[int64]Usage{}
	if known == nil {
		if len(b.Damage) == 0 {
			b.Damage = append(b.Damage, fmt.Errorf("%s: it is empty", ledgerFile))
		}
		return &LostLedger{Dir: dir, What: errors.Join(b.Damage...).Error()}
	}
	b.rewrite, b.damaged, b.why = true, true, CauseLost
	b.Doubt[CauseLost] = b.Doubt[CauseLost].Plus(known.AtWorst.Minus(b.AtWorst()))
	return nil
}

func isDamage(err error) bool {
	var p *Problem
	return errors.As(err, &p)
}

// ledgerEntry is a line of a ledger.
type ledgerEntry struct {
	seq, of      int64
	version      int64
	carried      bool
	reserved     bool
	paid, doubt  Usage
	cause        Cause
	by, released map[Cause]Usage
}

func (e *ledgerEntry) read(r *reader, object []byte) error {
	r.begin(object)
	for key := range r.object() {
		switch string(key) {
		case "seq":
			e.seq = r.integer()
		case "of":
			e.of = r.integer()
		case "v":
			e.version = r.integer()
		case "reserved":
			e.reserved = true
			r.usage(&e.doubt)
		case "paid":
			r.usage(&e.paid)
		case "doubt":
			r.usage(&e.doubt)
		case "cause":
			e.cause = Cause(r.name())
		case "carried":
			e.carried = true
			e.readCarried(r)
		case "released":
			e.released = r.usages()
		default:
			r.pass()
		}
	}
	switch err := r.end(); {
	case err != nil:
		return err
	case e.version > ledgerVersion:
		return fmt.Errorf("it was written by a newer agentbench (format %d, this one knows %d)", e.version, ledgerVersion)
	case e.seq < 1 || e.paid.negative() || e.doubt.negative():
		return errors.New("an entry that cannot be")
	}
	return nil
}

func (e *ledgerEntry) readCarried(r *reader) {
	for key := range r.object() {
		switch string(key) {
		case "paid":
			r.usage(&e.paid)
		case "doubt":
			e.by = r.usages()
		default:
			r.pass()
		}
	}
	if e.by == nil {
		e.by = map[Cause]Usage{}
	}
}

func (r *reader) usages() map[Cause]Usage {
	by := map[Cause]Usage{}
	for key := range r.object() {
		var u Usage
		cause := Cause(key)
		r.usage(&u)
		by[cause] = u
	}
	return by
}

// readLedgerHead reads the seal beside a ledger; an error is a *Problem, or
// fs.ErrNotExist.
func readLedgerHead(dir string) (*LedgerSeal, error) {
	text, err := readWhole(filepath.Join(dir, ledgerHead))
	if err != nil {
		return nil, err
	}
	damage := func(err error) error {
		return &Problem{File: ledgerHead, Line: 1, Lines: 1, Bytes: int64(len(text)), What: err.Error()}
	}
	line, _, whole := bytes.Cut(text, []byte{'\n'})
	if !whole {
		return nil, damage(errors.New("a line that breaks off"))
	}
	object, err := unseal(line)
	if err != nil {
		return nil, damage(err)
	}
	s := &LedgerSeal{}
	var found bool
	if s.AtWorst, found, err = readAtWorst(object, &s.Entries); err != nil || !found || s.AtWorst.negative() {
		return nil, damage(errShape)
	}
	return s, nil
}

// readAtWorst reads a line that says what all comes to: the seal, and the whole of
// a ledger of the earlier format.
func readAtWorst(object []byte, entries *int64) (u Usage, found bool, err error) {
	r := new(reader)
	r.begin(object)
	for key := range r.object() {
		switch string(key) {
		case "seq":
			*entries = r.integer()
		case "at_worst":
			found = true
			r.usage(&u)
		default:
			r.pass()
		}
	}
	return u, found, r.end()
}
