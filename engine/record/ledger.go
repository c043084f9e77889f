package record

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Ledger is what the budget of a suite was spent on: spent.jsonl of a result folder,
// which is only ever appended. A line is an entry, with a checksum as all lines have
// and a number that counts them:
//
//	{"crc":"…","seq":1,"v":1,"carried":{"paid":{…},"doubt":{…}},"cause":"begun"}
//	{"crc":"…","seq":2,"reserved":{"calls":1,"output_tokens":100}}
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
	paid   Usage
	doubt  Usage
	open   Usage // reserved by calls in flight
	err    error // the first write that failed

	dirty   chan struct{} // holds an element where something is not synced
	closing chan struct{}
	ended   chan struct{} // the syncing goroutine has returned
}

// LedgerSeal says how many entries a ledger has and what they come to at worst.
type LedgerSeal struct {
	Entries int64 `json:"entries"`
	AtWorst Usage `json:"at_worst,omitzero"`
}

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

// Settlement is what became of a reserved call: either what it is known to have
// used, or what it may have used at most.
type Settlement struct {
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
	l := &Ledger{paid: b.Paid, seq: b.entries, dirty: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{})}
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
		if err := l.carry(disk, b); err != nil {
			return err
		}
	} else if err := disk.Truncate(ledgerFile, b.good); err != nil {
		return err
	}
	if l.head, err = openRegular(filepath.Join(dir, ledgerHead), os.O_CREATE|os.O_WRONLY); err != nil {
		return err
	}
	if l.file, err = disk.Append(ledgerFile); err != nil {
		return err
	}
	l.doubt = b.InDoubt()
	if !b.rewrite {
		l.settleDangling(b)
	}
	l.seal()
	return l.err
}

// carry writes the ledger anew: one entry that holds the balance.
func (l *Ledger) carry(disk folder, b *Balance) error {
	if b.damaged {
		if err := keepAside(disk, ledgerFile, damagedLedger); err != nil {
			return err
		}
	}
	l.seq++
	line, err := l.line(func(w *writer) {
		w.integer("v", ledgerVersion)
		w.key("carried")
		w.open()
		w.key("paid")
		w.usage(&b.Paid)
		w.key("doubt")
		w.usages(b.Doubt)
		w.close()
		w.string("cause", string(b.why))
	})
	if err != nil {
		return err
	}
	return disk.Replace(ledgerFile, func(to io.Writer) error {
		_, err := to.Write(line)
		return err
	})
}

// keepAside appends a file to another one, if it is there.
func keepAside(disk folder, name, aside string) error {
	from, err := openFile(filepath.Join(string(disk), name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := disk.Append(aside)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Sync(), to.Close())
}

// settleDangling ends the calls that were in flight when a process ended: they stay
// in doubt.
func (l *Ledger) settleDangling(b *Balance) {
	for _, entry := range b.dangling() {
		reserved := b.open[entry]
		l.append(func(w *writer) {
			w.integer("of", entry)
			w.key("doubt")
			w.usage(&reserved)
			w.string("cause", string(CauseKilled))
		})
	}
}

// Reserve puts down what a call may cost before it is made, and gives the number to
// settle it by. After an error no call may be made any more: it could not be told.
// It is safe for concurrent use.
func (l *Ledger) Reserve(u Usage) (entry int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = l.open.Plus(u)
	l.append(func(w *writer) {
		w.key("reserved")
		w.usage(&u)
	})
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
	l.open = l.open.Minus(reserved)
	l.paid, l.doubt = l.paid.Plus(s.Paid), l.doubt.Plus(s.Doubt)
	l.append(func(w *writer) {
		w.integer("of", entry)
		if s.Doubt != (Usage{}) {
			w.key("doubt")
			w.usage(&s.Doubt)
		} else {
			w.key("paid")
			w.usage(&s.Paid)
		}
		w.string("cause", string(s.Cause))
	})
	if s.Paid.Plus(s.Doubt).Minus(reserved) != (Usage{}) {
		l.seal() // the last seal did not foresee it, and this entry may be lost
	}
}

// Release releases all that is in doubt, but for what is proven to be paid of it.
func (l *Ledger) Release(b *Balance, paid Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	doubt := maps.Clone(b.Doubt)
	more := b.prove(paid)
	l.paid, l.doubt = l.paid.Plus(more), Usage{}
	l.append(func(w *writer) {
		w.key("released")
		w.usages(doubt)
		w.key("paid")
		w.usage(&more)
		w.string("cause", string(CauseRepair))
	})
	l.seal()
}

// Sealed is the seal as it is now, for the manifest.
func (l *Ledger) Sealed() LedgerSeal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LedgerSeal{Entries: l.seq, AtWorst: l.atWorst()}
}

func (l *Ledger) atWorst() Usage { return l.paid.Plus(l.doubt).Plus(l.open) }

// append writes the next entry.
func (l *Ledger) append(fields func(*writer)) {
	if l.err != nil {
		return // what comes behind a torn line could not be read
	}
	l.seq++
	var line []byte
	if line, l.err = l.line(fields); l.err == nil {
		_, l.err = l.file.Write(line)
	}
	l.touched()
}

// line is the entry of the current number; it is valid until the next one.
func (l *Ledger) line(fields func(*writer)) ([]byte, error) {
	w := writer{to: append(l.buffer[:0], lineHead...)}
	w.open()
	w.integer("seq", l.seq)
	fields(&w)
	w.close()
	var err error
	l.buffer, err = seal(w.to, 0)
	return l.buffer, err
}

// seal writes the seal over the last one. What a longer one leaves behind it is not
// read.
func (l *Ledger) seal() {
	if l.err != nil {
		return
	}
	atWorst := l.atWorst()
	var line []byte
	if line, l.err = l.line(func(w *writer) {
		w.key("at_worst")
		w.usage(&atWorst)
	}); l.err == nil {
		_, l.err = l.head.WriteAt(line, 0)
	}
	l.touched()
}

// usages appends what several causes come to, those without anything left out.
func (w *writer) usages(by map[Cause]Usage) {
	w.open()
	for _, cause := range causes(by) {
		u := by[cause]
		w.key(string(cause))
		w.usage(&u)
	}
	w.close()
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

// errLedgerClosed is why nothing is written any more.
var errLedgerClosed = errors.New("the ledger is closed")

// Close seals the ledger and gives the first error of all writes.
func (l *Ledger) Close() error {
	l.mu.Lock()
	l.seal()
	err := l.err
	l.err = errors.Join(l.err, errLedgerClosed)
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
