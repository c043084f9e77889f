package expect

import (
	"errors"
	"fmt"
	"testing"
)

// failures keeps what a test would say.
type failures string

func (*failures) Helper()                          {}
func (f *failures) Errorf(format string, v ...any) { *f += failures(fmt.Sprintf(format, v...)) }
func (f *failures) Fatal(v ...any)                 { *f += failures(fmt.Sprint(v...)) }

func TestFailuresAreTold(t *testing.T) {
	var f failures
	Equal(&f, "same", []any{1, "a"}, []any{1, "a"})
	NoError(&f, nil)
	Equal(&f, "case", []int{1}, []int{2})
	NoError(&f, errors.New("; no file"))
	if want := failures("case:\n got [1]\nwant [2]; no file"); f != want {
		t.Errorf("got %q, want %q", f, want)
	}
}
