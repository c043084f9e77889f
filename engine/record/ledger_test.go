package record

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestF3_ALedgerHoldsItsLastState(t *testing.T) {
	dir := t.TempDir()
	if u, err := Spent(dir); err != nil || u != (Usage{}) {
		t.Fatalf("nothing was spent, and it says %+v, %v", u, err)
	}
	ledger, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	propertytest.Check(t, func(t *rapid.T) {
		u := anyOf[Usage](t)
		ledger.Write(u)
		if got, err := Spent(dir); err != nil || !reflect.DeepEqual(got, u) {
			t.Fatalf("wrote %+v, read %+v, %v", u, got, err)
		}
	})
}

func TestF3_ATornLedgerSaysNothing(t *testing.T) {
	dir := t.TempDir()
	ledger, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	ledger.Write(Usage{Calls: 3, Cost: 5})
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, dir, ledgerFile)
	for cut := range whole {
		writeFile(t, dir, ledgerFile, whole[:cut])
		if u, err := Spent(dir); err != nil || u != (Usage{}) {
			t.Fatalf("cut at %d: %+v, %v", cut, u, err)
		}
	}
}

func TestF4_ALedgerTellsThatItCouldNotWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, ledgerFile)); err != nil {
		t.Skip(err)
	}
	ledger, err := OpenLedger(dir)
	if err != nil {
		t.Skip(err)
	}
	ledger.Write(Usage{Calls: 1})
	if ledger.Close() == nil {
		t.Error("a full disk, and not a word")
	}
}
