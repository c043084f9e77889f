package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// closed is the manifest of a folder that was closed with such a ledger.
func closed(s *LedgerSeal) *Manifest {
	return &Manifest{Status: StateStopped, Volatile: ManifestVolatile{Ledger: s}}
}

// balanceOf reads a ledger that can be read.
func balanceOf(t fataler, dir string, m *Manifest) *Balance {
	b, err := ReadLedger(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ledgerIn(t fataler, dir string) *Ledger {
	l, err := OpenLedger(dir, balanceOf(t, dir, &Manifest{}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func reserve(t fataler, l *Ledger, u Usage) int64 {
	entry, err := l.Reserve(RoleAgent, u)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

var (
	aCall    = Usage{Calls: 1, InputTokens: 10, OutputTokens: 100, Cost: 210}
	anAnswer = Usage{Calls: 1, InputTokens: 8, OutputTokens: 5, Cost: 18}
)

// spentLedger is a ledger of calls with every end that a call has, and one that is
// in flight. A session that is killed leaves it as it is.
func spentLedger(t testing.TB, dir string) *Ledger {
	t.Helper()
	l := ledgerIn(t, dir)
	for _, s := range []Settlement{
		{Paid: anAnswer, Cause: CauseAnswered},
		{Cause: CauseUnsent},
		{Doubt: aCall, Cause: Cause(CallTimeout)},
		{Paid: Usage{Calls: 1}, Cause: Cause(RateLimit)},
		{Paid: anAnswer, Cause: CauseAnswered},
	} {
		l.Settle(reserve(t, l, aCall), aCall, s)
	}
	reserve(t, l, aCall)
	return l
}

func atLeast(u, least Usage) bool { return least.Minus(u) == Usage{} }

// Every line of a ledger is JSON, with a checksum, a number and, where it ends a
// call, a cause; nothing is ever written over.
func TestF3_ALedgerHasACauseForEveryCall(t *testing.T) {
	dir := t.TempDir()
	l := ledgerIn(t, dir)
	entry := reserve(t, l, aCall)
	before := readFile(t, dir, ledgerFile)
	l.Settle(entry, aCall, Settlement{Doubt: aCall, Cause: Cause(Incomplete)})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	after := readFile(t, dir, ledgerFile)
	if !bytes.HasPrefix(after, before) || len(before) == 0 {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	var last struct {
		CRC     string
		Seq, Of int64
		Cause   string
	}
	lines := bytes.Split(bytes.TrimSpace(after), []byte{'\n'})
	for i, line := range lines {
		if err := json.Unmarshal(line, &last); err != nil || last.CRC == "" || last.Seq != int64(i+1) {
			t.Errorf("line %d is %s: %v", i, line, err)
		}
	}
	if len(lines) != 3 || last.Of != entry || last.Cause != "incomplete" {
		t.Errorf("%s", after)
	}
	b := balanceOf(t, dir, &Manifest{})
	if b.Paid != (Usage{}) || !maps.Equal(b.Doubt, map[Cause]Usage{CauseKilled: {}, Cause(Incomplete): aCall}) {
		t.Errorf("%+v", b)
	}
}

// What a ledger says is what was reserved and settled, whatever it was, over any
// number of sessions, some of which are killed.
func TestF3_ALedgerSaysWhatWasSpent(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "ledger")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var paid, doubt Usage
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			l := ledgerIn(t, dir)
			for range rapid.IntRange(0, 5).Draw(t, "calls") {
				u := Usage{Calls: 1, InputTokens: rapid.Int64Range(0, 1e6).Draw(t, "in"), Cost: Money(rapid.Int64Range(0, 1e12).Draw(t, "cost"))}
				entry := reserve(t, l, u)
				switch rapid.IntRange(0, 3).Draw(t, "end") {
				case 0:
					l.Settle(entry, u, Settlement{Paid: u, Cause: CauseAnswered})
					paid = paid.Plus(u)
				case 1:
					l.Settle(entry, u, Settlement{Cause: CauseUnsent})
				case 2:
					l.Settle(entry, u, Settlement{Doubt: u, Cause: Cause(Network)})
					doubt = doubt.Plus(u)
				case 3: // it stays in flight
					doubt = doubt.Plus(u)
				}
			}
			seal := l.Sealed()
			if rapid.Bool().Draw(t, "closed") {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if b := balanceOf(t, dir, closed(&seal)); b.Paid != paid || b.InDoubt() != doubt || len(b.Damage) > 0 {
				t.Fatalf("%+v, want %+v and %+v", b, paid, doubt)
			}
			if seal.AtWorst != paid.Plus(doubt) {
				t.Fatalf("sealed %+v, want %+v", seal, paid.Plus(doubt))
			}
		}
	})
}

// F2: of a ledger, any bit that flips and any end that is missing is told, and what
// was spent counts all the same; the next session has it in a ledger that is whole.
func TestF2_NoDamageToALedgerIsSpentTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	home := t.TempDir()
	ended := filepath.Join(home, "ended")
	if err := os.Mkdir(ended, 0o755); err != nil {
		t.Fatal(err)
	}
	l := spentLedger(t, ended)
	killedFile, killedHead := readFile(t, ended, ledgerFile), readFile(t, ended, ledgerHead)
	atWorst := l.Sealed().AtWorst
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	seal := l.Sealed()
	// look reads a damaged ledger: nil where what was spent is unknown, and nothing is
	// run any more.
	look := func(what, dir string, m *Manifest) *Balance {
		t.Helper()
		b, err := ReadLedger(dir, m)
		var lost *LostLedger
		if errors.As(err, &lost) {
			return nil
		}
		if err != nil || len(b.Damage) == 0 || !atLeast(b.atWorst(), atWorst) {
			t.Fatalf("%s: %+v, %v; at worst it is %+v", what, b, err, atWorst)
		}
		return b
	}
	try := func(what string, m *Manifest, file, head []byte) {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string][]byte{ledgerFile: file, ledgerHead: head} {
			if text != nil {
				writeFile(t, dir, name, text)
			}
		}
		b := look(what, dir, m)
		if b == nil {
			return
		}
		again, err := OpenLedger(dir, b)
		if err == nil {
			err = again.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		mended := balanceOf(t, dir, m)
		if len(mended.Damage) > 0 || mended.atWorst() != b.atWorst() || !atLeast(again.Sealed().AtWorst, atWorst) {
			t.Fatalf("%s, mended: %+v, before %+v", what, mended, b)
		}
	}
	for name, c := range map[string]struct {
		m          *Manifest
		file, head []byte
	}{
		"killed": {&Manifest{Status: StateRunning}, killedFile, killedHead},
		"closed": {closed(&seal), readFile(t, ended, ledgerFile), readFile(t, ended, ledgerHead)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir, ledgerFile, c.file)
			writeFile(t, dir, ledgerHead, c.head)
			line := bytes.IndexByte(c.head, '\n') + 1 // what is behind it is what a longer line left
			for name, text := range map[string][]byte{ledgerFile: c.file, ledgerHead: c.head[:line]} {
				f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
				must(t, err)
				defer f.Close()
				for i := range text {
					for bit := range 8 {
						_, err := f.WriteAt([]byte{text[i] ^ 1<<bit}, int64(i))
						must(t, err)
						look(fmt.Sprintf("bit %d of byte %d of %s", bit, i, name), dir, c.m)
					}
					_, err := f.WriteAt(text[i:i+1], int64(i))
					must(t, err)
				}
				for cut := len(text) - 1; cut >= 0; cut-- {
					must(t, f.Truncate(int64(cut)))
					look(fmt.Sprintf("%s cut at %d", name, cut), dir, c.m)
				}
				_, err = f.WriteAt(text, 0)
				must(t, err)
			}
			for i := 0; i < len(c.file); i += 197 {
				try("a bit of the file", c.m, flipBit(c.file, i, i%8), c.head)
			}
			for i := 0; i < line; i += 41 {
				try("a bit of the seal", c.m, c.file, flipBit(c.head, i, i%8))
			}
			for cut := 0; cut < len(c.file); cut += 101 {
				try("a file that is cut", c.m, c.file[:cut], c.head)
			}
			for cut := 0; cut < line; cut += 41 {
				try("a seal that is cut", c.m, c.file, c.head[:cut])
			}
			lines := bytes.SplitAfter(c.file, []byte{'\n'})
			for i := range lines[:len(lines)-1] {
				try("a line that is missing", c.m, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), c.head)
				try("lines that are missing", c.m, bytes.Join(lines[:i], nil), c.head)
			}
			try("no file", c.m, nil, c.head)
			try("no seal", c.m, c.file, nil)
		})
	}
	try("neither, of a folder that was closed", closed(&seal), nil, nil)
	if b, err := ReadLedger(t.TempDir(), &Manifest{Status: StateRunning, Volatile: ManifestVolatile{Ledger: &seal}}); err == nil {
		t.Errorf("neither, of a folder in use: %+v", b)
	}
}

// F2: without its seal, a ledger that a killed session left may lack its end: what was spent
// is unknown, unless it was only begun.
func TestF2_AnUnsealedLedgerOfAKilledSessionIsNotReliedOn(t *testing.T) {
	dir := t.TempDir()
	spentLedger(t, dir)
	lines := bytes.SplitAfter(readFile(t, dir, ledgerFile), []byte{'\n'})
	proven := &Run{Version: Version, ID: "a/b/1", Outcome: Outcome{Status: Completed}, Iterations: []Iteration{{Calls: []Call{{Usage: anAnswer}}}}}
	record, err := appendRun(nil, proven)
	must(t, err)
	for name, c := range map[string]struct {
		entries int
		head    []byte
		noted   *LedgerSeal
		records []byte
		known   bool
	}{
		"all entries":                    {entries: len(lines) - 1},
		"without the last":               {entries: len(lines) - 2},
		"an unreadable seal":             {entries: 5, head: []byte("x\n")},
		"the first, of which is known":   {entries: 1, noted: &LedgerSeal{Entries: 1}},
		"the first, and a record":        {entries: 1, records: record},
		"the first, of which is nothing": {entries: 1, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir, ledgerFile, bytes.Join(lines[:c.entries], nil))
			for file, text := range map[string][]byte{ledgerHead: c.head, recordsFile: c.records} {
				if text != nil {
					writeFile(t, dir, file, text)
				}
			}
			b, err := ReadLedger(dir, &Manifest{Status: StateRunning, Volatile: ManifestVolatile{Ledger: c.noted}})
			if lost := new(LostLedger); errors.As(err, &lost) == c.known || c.known && (err != nil || len(b.Damage) > 0) {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
}

// A machine that crashes may lose the last entries, not the seal. Where a call cost more than
// was reserved, the seal says so as soon as it is settled.
func TestF2_ACallThatCostMoreThanReservedIsSealedAtOnce(t *testing.T) {
	for _, s := range []Settlement{{Paid: aCall.Plus(anAnswer), Cause: CauseAnswered}, {Doubt: aCall.Plus(anAnswer), Cause: CauseUnreported}} {
		dir := t.TempDir()
		l := ledgerIn(t, dir)
		entry := reserve(t, l, aCall)
		before := readFile(t, dir, ledgerFile)
		l.Settle(entry, aCall, s)
		writeFile(t, dir, ledgerFile, before)
		b := balanceOf(t, dir, &Manifest{Status: StateRunning})
		if want := aCall.Plus(anAnswer); b.atWorst() != want || len(b.Damage) != 1 {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
}

// What a ledger has lost is released but for what the records prove, however much of it the
// ledger has as in flight.
func TestReleasingALedgerThatLostEntries(t *testing.T) {
	dir := emptyFolder(t)
	l := ledgerIn(t, dir)
	var calls []Call
	var entries []int64
	for range 3 {
		entries = append(entries, reserve(t, l, aCall))
		calls = append(calls, Call{Usage: anAnswer})
	}
	before := readFile(t, dir, ledgerFile)
	for _, entry := range entries {
		l.Settle(entry, aCall, Settlement{Paid: anAnswer, Cause: CauseAnswered})
	}
	must(t, l.Close())
	record, err := appendRun(nil, &Run{Version: Version, ID: "a/b/1", Outcome: Outcome{Status: Completed}, Iterations: []Iteration{{Calls: calls}}})
	must(t, err)
	writeFile(t, dir, recordsFile, record)
	writeFile(t, dir, ledgerFile, bytes.Join(slices.Collect(bytes.Lines(before))[:2], nil))
	proven := anAnswer.Plus(anAnswer).Plus(anAnswer)
	released, err := ReleaseLedger(dir)
	if err != nil || released.Paid != proven {
		t.Fatalf("%+v, %v", released, err)
	}
	if b := balanceOf(t, dir, &Manifest{}); b.Paid != proven || b.InDoubt() != (Usage{}) || len(b.Damage) > 0 {
		t.Errorf("%+v, want %+v", b, proven)
	}
}

func flipBit(text []byte, i, bit int) []byte {
	text = bytes.Clone(text)
	text[i] ^= 1 << bit
	return text
}

// A ledger of the earlier format is in doubt as a whole, until it is split; an
// unreadable one never counts as nothing.
func TestLedgersOfTheEarlierFormat(t *testing.T) {
	dir := t.TempDir()
	spent := Usage{Calls: 46, InputTokens: 747, OutputTokens: 4600, Cost: 9947}
	text, err := appendLine(nil, &struct {
		AtWorst Usage `json:"at_worst"`
	}{spent})
	if err != nil {
		t.Fatal(err)
	}
	longer := append(text, "0000}}\n"...)
	for _, text := range [][]byte{text, longer} {
		writeFile(t, dir, ledgerFile, text)
		if b := balanceOf(t, dir, &Manifest{}); !b.Earlier || b.Doubt[CauseEarlier] != spent || b.atWorst() != spent {
			t.Errorf("%s: %+v", text, b)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	for i := range text {
		for bit := range 8 {
			_, err := f.WriteAt([]byte{text[i] ^ 1<<bit}, int64(i))
			must(t, err)
			var lost *LostLedger
			if b, err := ReadLedger(dir, &Manifest{}); !errors.As(err, &lost) {
				t.Fatalf("bit %d of byte %d: %+v, %v", bit, i, b, err)
			}
		}
		_, err := f.WriteAt(text[i:i+1], int64(i))
		must(t, err)
	}
	for cut := range text {
		writeFile(t, dir, ledgerFile, text[:cut])
		if b, err := ReadLedger(dir, &Manifest{}); err == nil {
			t.Fatalf("cut at %d: %+v", cut, b)
		}
	}
	writeFile(t, dir, ledgerFile, text)
	b := balanceOf(t, dir, &Manifest{})
	b.Split(Usage{Calls: 4, OutputTokens: 30, Cost: 60}, Usage{Calls: 9, OutputTokens: 900, Cost: 1890})
	l, err := OpenLedger(dir, b)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b = balanceOf(t, dir, &Manifest{})
	if want := (Usage{Calls: 33, InputTokens: 747, OutputTokens: 3670, Cost: 7997}); b.Earlier || b.Paid.Calls != 4 || b.Doubt[CauseEarlier] != want {
		t.Errorf("%+v, want %+v in doubt", b, want)
	}
}

// Only who asks for it lets go of what is in doubt. What was paid stays, of a ledger
// that is lost as far as the records prove it.
func TestReleasingALedger(t *testing.T) {
	dir := emptyFolder(t)
	l := spentLedger(t, dir)
	must(t, l.Close())
	before := readFile(t, dir, manifestFile)
	paid := anAnswer.Plus(anAnswer).Plus(Usage{Calls: 1})
	released, err := ReleaseLedger(dir)
	if err != nil || released.InDoubt() != aCall.Plus(aCall) || released.Paid != paid {
		t.Fatalf("%+v, %v", released, err)
	}
	if b := balanceOf(t, dir, &Manifest{}); b.atWorst() != paid || len(b.Damage) > 0 {
		t.Errorf("%+v, want %+v", b, paid)
	}
	if m, err := ReadManifest(dir); err != nil || m.Volatile.Ledger == nil || m.Volatile.Ledger.AtWorst != paid {
		t.Errorf("the manifest notes %+v, %v", m.Volatile.Ledger, err)
	}
	writeFile(t, dir, manifestFile, before) // as if nothing were noted
	text := readFile(t, dir, ledgerFile)
	writeFile(t, dir, ledgerFile, flipBit(text, 40, 0))
	must(t, os.Remove(filepath.Join(dir, ledgerHead)))
	if released, err = ReleaseLedger(dir); err != nil || len(released.Damage) == 0 {
		t.Fatalf("%+v, %v", released, err)
	}
	if b := balanceOf(t, dir, &Manifest{}); b.atWorst() != (Usage{}) || len(b.Damage) > 0 {
		t.Errorf("%+v", b)
	}
	if aside := readFile(t, dir, damagedLedger); !bytes.Equal(aside, flipBit(text, 40, 0)) {
		t.Errorf("kept aside: %s", aside)
	}
}

// What records prove to have reached no server is what they count as unsent; what an error says proves nothing.
func TestEvidenceOfWhatWasSpent(t *testing.T) {
	failed := func(class ErrorClass, message string) Call {
		return Call{Model: "m", Attempts: 4, Usage: Usage{Calls: 1}, Error: &Error{Class: class, Message: message}}
	}
	for name, c := range map[string]struct {
		call   Call
		paid   Usage
		unsent int64
	}{
		"answered":   {Call{Model: "m", Usage: anAnswer}, anAnswer, 0},
		"cached":     {Call{Model: "m", Usage: anAnswer, Cached: true}, Usage{}, 0},
		"reset":      {failed(Network, `Post "http://127.0.0.1:9/v1": read tcp 127.0.0.1:1->127.0.0.1:9: read: connection reset by peer`), Usage{}, 0},
		"it says so": {failed(Server, `status 502: Post "http://127.0.0.1:9/v1": dial tcp 127.0.0.1:9: connect: connection refused`), Usage{}, 0},
		"quoted":     {failed(Network, `upstream: Post "http://127.0.0.1:9/v1": dial tcp 127.0.0.1:9: connect: connection refused`), Usage{}, 0},
		"counted":    {Call{Model: "m", Unsent: 3, Error: &Error{Class: Incomplete, Message: "cut"}}, Usage{}, 3},
	} {
		e := Evidence{Unsent: map[string]int64{}}
		e.add(&c.call)
		if e.Paid != c.paid || e.Unsent["m"] != c.unsent {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// What judges spent is told apart, while it runs, in its seal, and after its process was killed.
func TestALedgerKnowsWhatJudgesSpent(t *testing.T) {
	dir := t.TempDir()
	l := ledgerIn(t, dir)
	of := func(role Role, s Settlement) {
		entry, err := l.Reserve(role, aCall)
		if err != nil {
			t.Fatal(err)
		}
		s.Role = role
		l.Settle(entry, aCall, s)
	}
	of(RoleAgent, Settlement{Paid: anAnswer, Cause: CauseAnswered})
	of(RoleJudge, Settlement{Paid: anAnswer, Cause: CauseAnswered})
	of(RoleJudge, Settlement{Doubt: aCall, Cause: Cause(Network)})
	judges := anAnswer.Plus(aCall)
	if got := l.Spent(); got.Judges != judges || got.Total != judges.Plus(anAnswer) {
		t.Errorf("spent %+v", got)
	}
	if _, err := l.Reserve(RoleJudge, aCall); err != nil { // it is in flight when the process ends
		t.Fatal(err)
	}
	judges = judges.Plus(aCall)
	if seal := SealOf(dir, &Manifest{}); seal.Judges != judges || seal.AtWorst != judges.Plus(anAnswer) {
		t.Errorf("the seal says %+v", seal)
	}
	again := ledgerIn(t, dir)
	if got := again.Spent(); got.Judges != judges || got.Total != judges.Plus(anAnswer) {
		t.Errorf("after a kill %+v", got)
	}
	again.Release(balanceOf(t, dir, &Manifest{}), Usage{})
	if got := again.Spent(); got.Judges != anAnswer || got.Total != anAnswer.Plus(anAnswer) {
		t.Errorf("after a release %+v", got)
	}
	if got := balanceOf(t, dir, &Manifest{}).judges; got.spent() != anAnswer {
		t.Errorf("read again %+v", got)
	}
}

// A ledger that cannot be written makes no more calls, and says so at its end.
func TestF4_ALedgerTellsThatItCouldNotWrite(t *testing.T) {
	l := ledgerIn(t, t.TempDir())
	real := l.file
	l.file = fullFile{real}
	if _, err := l.Reserve(RoleAgent, aCall); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("got %v", err)
	}
	if _, err := l.Reserve(RoleAgent, aCall); err == nil {
		t.Error("the next call is made")
	}
	if l.Close() == nil {
		t.Error("a full disk, and not a word")
	}
}

// fullFile takes nothing more.
type fullFile struct{ File }

func (fullFile) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func BenchmarkLedger(b *testing.B) {
	l := ledgerIn(b, b.TempDir())
	for b.Loop() {
		l.Settle(reserve(b, l, aCall), aCall, Settlement{Paid: anAnswer, Cause: CauseAnswered})
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// A ledger can be closed again: the first time it wrote all there was.
func TestALedgerIsClosedTwice(t *testing.T) {
	dir := t.TempDir()
	l := spentLedger(t, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
}
