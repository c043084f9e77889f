package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// balanceOf reads a ledger that can be read.
func balanceOf(t fataler, dir string, m *Manifest) *Balance {
	b, err := ReadLedger(dir, m)
	must(t, err)
	return b
}

func ledgerIn(t fataler, dir string) *Ledger {
	l, err := OpenLedger(dir, balanceOf(t, dir, &Manifest{}))
	must(t, err)
	return l
}

func reserve(t fataler, l *Ledger, u Usage) int64 {
	entry, err := l.Reserve(RoleAgent, u)
	must(t, err)
	return entry
}

var (
	aCall    = Usage{Calls: 1, InputTokens: 10, OutputTokens: 100, Cost: 210}
	anAnswer = Usage{Calls: 1, InputTokens: 8, OutputTokens: 5, Cost: 18}
)

// spentLedger is a ledger of calls with every end that a call has, and one that is in flight. A session that is killed leaves it as it is.
func spentLedger(t testing.TB, dir string) *Ledger {
	t.Helper()
	l := ledgerIn(t, dir)
	for _, s := range []Settlement{{Paid: anAnswer}, {}, {Doubt: aCall}, {Paid: Usage{Calls: 1}}, {Paid: anAnswer}} {
		l.Settle(reserve(t, l, aCall), aCall, s)
	}
	reserve(t, l, aCall)
	return l
}

func atLeast(u, least Usage) bool { return least.Minus(u) == Usage{} }

// A ledger has all that was reserved, settled and corrected, for every role, over any number of sessions, some of
// which are killed. The file is only ever appended.
func TestF3_ALedgerSaysWhatWasSpent(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "ledger")
		must(t, err)
		defer os.RemoveAll(dir)
		var paid, doubt, judges Usage
		var before []byte
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			l := ledgerIn(t, dir)
			early := l.Spent() // as a manifest notes it, whose session is killed
			for range rapid.IntRange(0, 5).Draw(t, "calls") {
				u := Usage{Calls: 1, InputTokens: rapid.Int64Range(0, 1e6).Draw(t, "in"), Cost: Money(rapid.Int64Range(0, 1e12).Draw(t, "cost"))}
				role := rapid.SampledFrom([]Role{RoleAgent, RoleJudge}).Draw(t, "role")
				entry, err := l.Reserve(role, u)
				must(t, err)
				spent := u
				switch rapid.IntRange(0, 3).Draw(t, "end") {
				case 0:
					l.Settle(entry, u, Settlement{Role: role, Paid: u})
					paid = paid.Plus(u)
				case 1:
					l.Settle(entry, u, Settlement{Role: role})
					spent = Usage{}
				case 2:
					l.Settle(entry, u, Settlement{Role: role, Doubt: u})
					doubt = doubt.Plus(u)
				case 3: // it stays in flight
					doubt = doubt.Plus(u)
				}
				if role == RoleJudge {
					judges = judges.Plus(spent)
				}
			}
			if rapid.Bool().Draw(t, "corrected") {
				must(t, l.Correct(doubt, Settlement{Paid: anAnswer}))
				paid, doubt, judges = paid.Plus(anAnswer), Usage{}, balanceOf(t, dir, &Manifest{}).JudgesPaid
			}
			noted := l.Spent()
			if rapid.Bool().Draw(t, "closed") {
				must(t, l.Close())
			}
			b := balanceOf(t, dir, &Manifest{Volatile: ManifestVolatile{Ledger: &noted}})
			if b.Paid != paid || b.Doubt != doubt || b.Spent().Judges != judges || b.Spent() != noted {
				t.Fatalf("%+v, want %+v and %+v, judges %+v; noted %+v", b, paid, doubt, judges, noted)
			}
			if later := balanceOf(t, dir, &Manifest{Volatile: ManifestVolatile{Ledger: &early}}); later.account != b.account {
				t.Fatalf("%+v, and %+v where %+v is noted", b, later, early)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, ledgerFile)); !bytes.HasPrefix(after, before) {
				t.Fatal("the ledger was written over")
			} else {
				before = after
			}
		}
	})
}

// F2: a ledger that is cut anywhere drops its last line at most, and that never frees money; less than the manifest knows of is damage.
// A flipped bit and a missing line are named, and what is whole of a ledger is carried over once they are dropped.
func TestF2_NoDamageToALedgerIsSpentTwice(t *testing.T) {
	dir := t.TempDir()
	l := spentLedger(t, dir)
	must(t, l.Sync())
	text := readFile(t, dir, ledgerFile)
	whole := balanceOf(t, dir, &Manifest{})
	lines := bytes.SplitAfter(text, []byte{'\n'})
	damaged := func(text []byte, m *Manifest) (*Balance, []*Damage) {
		writeFile(t, dir, ledgerFile, text)
		b, damage, err := readLedger(dir, m)
		if _, refused := ReadLedger(dir, m); err != nil || (refused == nil) != (len(damage) == 0) {
			t.Fatalf("%v; %v, and refused with %v", err, damage, refused)
		}
		return b, damage
	}
	for cut := 0; cut < len(text); cut += stride() {
		b, damage := damaged(text[:cut], &Manifest{})
		// What is settled by the lines that are left is known; a call whose settlement is cut stays spent.
		settled := bytes.Count(text[:cut], []byte("\n")) / 2
		least := Usage{Calls: []int64{0, 1, 1, 2, 3, 4}[settled]}
		if len(damage) > 0 || !atLeast(b.Spent().Total, least) {
			t.Fatalf("cut at byte %d: %v, %+v", cut, damage, b)
		}
		if bytes.HasSuffix(text[:cut], []byte("\n")) && bytes.Count(text[:cut], []byte("\n"))%2 == 1 && b.Doubt.Calls == 0 {
			t.Fatalf("cut at byte %d: the call in flight is not in doubt: %+v", cut, b)
		}
		again, err := OpenLedger(dir, b) // what is appended comes after whole lines
		must(t, err)
		reserve(t, again, aCall)
		must(t, again.Close())
		if now := balanceOf(t, dir, &Manifest{}); now.Spent().Total != b.Spent().Total.Plus(aCall) {
			t.Fatalf("cut at byte %d and resumed: %+v became %+v", cut, b, now)
		}
		noted := whole.Spent()
		if b, damage = damaged(text[:cut], &Manifest{Volatile: ManifestVolatile{Ledger: &noted}}); len(damage) == 0 || !atLeast(b.Spent().Total, noted.Total) {
			t.Fatalf("cut at byte %d: the manifest knows of %+v: %+v", cut, noted, b)
		}
	}
	for at := 0; at < len(text); at += stride() {
		flipped := bytes.Clone(text)
		flipped[at] ^= 4
		if _, damage := damaged(flipped, &Manifest{}); len(damage) == 0 || damage[0].Line != 1+bytes.Count(text[:at], []byte("\n")) {
			t.Fatalf("bit 2 of byte %d flipped: %v", at, damage)
		}
	}
	for i := range lines[:len(lines)-2] {
		b, damage := damaged(bytes.Join(append(lines[:i:i], lines[i+1:]...), nil), &Manifest{})
		if len(damage) == 0 {
			t.Fatalf("line %d is missing: %+v", i+1, b)
		}
		again, err := OpenLedger(dir, b)
		if err == nil {
			err = again.Close()
		}
		if now := balanceOf(t, dir, &Manifest{}); err != nil || now.account != b.account {
			t.Fatalf("line %d is missing: %+v became %+v, %v", i+1, b, now, err)
		}
	}
	must(t, os.Remove(filepath.Join(dir, ledgerFile)))
	noted := whole.Spent()
	m := &Manifest{Volatile: ManifestVolatile{Ledger: &noted}}
	b, damage, _ := readLedger(dir, m)
	if !b.Kept || len(damage) == 0 || b.Spent().Total != noted.Total {
		t.Errorf("it is missing: %v, %+v", damage, b)
	}
	again, err := OpenLedger(dir, b) // and killed before the manifest is written
	if err == nil {
		err = again.Close()
	}
	if now, refused := ReadLedger(dir, m); err != nil || refused != nil || now.account != b.account {
		t.Errorf("begun anew: %+v became %+v; %v, %v", b, now, err, refused)
	}
}

// Only who asks for it lets go of what is in doubt. What was paid stays.
func TestReleasingALedger(t *testing.T) {
	dir := t.TempDir()
	manifest, err := encodeManifest(&Manifest{Suite: "s", Status: StateStopped}, nil)
	if err = errors.Join(err, replaceWith(folder(dir), manifestFile, manifest)); err != nil {
		t.Fatal(err)
	}
	must(t, spentLedger(t, dir).Close())
	b, err := ReleaseLedger(dir)
	if err != nil || b.Doubt != aCall.Plus(aCall) {
		t.Fatalf("%+v, %v", b, err)
	}
	m, err := ReadManifest(dir)
	must(t, err)
	after := balanceOf(t, dir, &m)
	if want := anAnswer.Plus(anAnswer).Plus(Usage{Calls: 1}); after.Paid != want || after.Doubt != (Usage{}) {
		t.Errorf("%+v", after)
	}
}

// syncCounter counts the syncs of a file, which take until they are let through.
type syncCounter struct {
	File
	mu    sync.Mutex
	syncs int
}

func (f *syncCounter) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	return f.File.Sync()
}

// F3: a call is on disk before it is made, and calls side by side share a sync.
func TestF3_AReservationIsSyncedBeforeItsCall(t *testing.T) {
	l := ledgerIn(t, t.TempDir())
	file := &syncCounter{File: l.file}
	l.file = file
	reserve(t, l, aCall)
	for range 2 {
		if err := l.Sync(); err != nil || file.syncs != 1 {
			t.Fatalf("%d syncs, %v; want one, for what is synced needs none", file.syncs, err)
		}
	}
	file.mu.Lock() // the first of these waits for the disk
	var calls sync.WaitGroup
	reserve(t, l, aCall)
	for range 50 {
		calls.Go(func() {
			reserve(t, l, aCall)
			if err := l.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	for l.Spent().Total.Calls < 52 {
		runtime.Gosched()
	}
	file.mu.Unlock()
	calls.Wait()
	if file.syncs > 4 {
		t.Errorf("%d syncs for 50 calls side by side", file.syncs)
	}
}

// A ledger that cannot be written makes no more calls, and says so at its end. It knows of no more than its file does.
func TestF4_ALedgerTellsThatItCouldNotWrite(t *testing.T) {
	dir := t.TempDir()
	l := ledgerIn(t, dir)
	entry := reserve(t, l, aCall)
	l.file = fullFile{l.file}
	l.Settle(entry, aCall, Settlement{Doubt: aCall.Plus(aCall)})
	if _, err := l.Reserve(RoleAgent, aCall); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("got %v", err)
	}
	if _, err := l.Reserve(RoleAgent, aCall); err == nil {
		t.Error("the next call is made")
	}
	if b := balanceOf(t, dir, &Manifest{Volatile: ManifestVolatile{Ledger: new(l.Spent())}}); b.Spent().Total != aCall {
		t.Errorf("%+v spent", b.Spent().Total)
	}
	if l.Close() == nil {
		t.Error("a full disk, and not a word")
	}
	if err := l.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// fullFile takes nothing more.
type fullFile struct{ File }

func (fullFile) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func BenchmarkLedger(b *testing.B) {
	l := ledgerIn(b, b.TempDir())
	for b.Loop() {
		l.Settle(reserve(b, l, aCall), aCall, Settlement{Paid: anAnswer})
	}
	must(b, l.Close())
}
