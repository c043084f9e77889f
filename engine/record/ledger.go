package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Ledger is what the calls of a suite have spent and, those in flight, may still
// spend: the file spent.jsonl of a result folder. It is written before a call is
// made, so that a process that is killed has not spent more than it says. It is
// one line, written over and over without a sync: it survives the process, and a
// crash of the machine may leave an older one.
type Ledger struct {
	mu     sync.Mutex
	file   *os.File
	buffer []byte
	err    error // the first write that failed
}

// ledgerLine is longer than any line of a ledger.
const ledgerLine = 512

// Spent reads what the ledger of a folder says. A missing one, and one that a
// crash has left unreadable, says nothing.
func Spent(dir string) (Usage, error) {
	f, err := os.Open(filepath.Join(dir, ledgerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Usage{}, nil
	}
	if err != nil {
		return Usage{}, fmt.Errorf("reading what was spent: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, ledgerLine))
	if err != nil {
		return Usage{}, fmt.Errorf("reading what was spent: %w", err)
	}
	line, _, whole := bytes.Cut(text, []byte{'\n'})
	if !whole {
		return Usage{}, nil
	}
	object, err := unseal(line)
	if err != nil {
		return Usage{}, nil
	}
	return new(reader).spent(object)
}

func (r *reader) spent(object []byte) (u Usage, err error) {
	r.begin(object)
	for key := range r.object() {
		if string(key) == "at_worst" {
			r.usage(&u)
		} else {
			r.pass()
		}
	}
	return u, r.end()
}

// OpenLedger opens the ledger of a folder, whose journal the caller holds.
func OpenLedger(dir string) (*Ledger, error) {
	f, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return &Ledger{file: f}, nil
}

// Write puts a new state down. It is safe for concurrent use; after an error it
// does nothing.
func (l *Ledger) Write(atWorst Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	w := writer{to: append(l.buffer[:0], lineHead...)}
	w.open()
	w.key("at_worst")
	w.usage(&atWorst)
	w.close()
	if l.buffer, l.err = seal(w.to, 0); l.err == nil {
		_, l.err = l.file.WriteAt(l.buffer, 0) // what a longer line leaves behind it is not read
	}
}

// Close gives the first error of all writes.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, l.file.Sync(), l.file.Close()); err != nil {
		return fmt.Errorf("writing what was spent: %w", err)
	}
	return nil
}
