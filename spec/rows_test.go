package spec

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
)

type endless struct{ letter byte }

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.letter
	}
	return len(p), nil
}

// An unclosed quote makes one record of the rest of a file, which may be longer than memory.
func TestF57_RecordOfACSVFileIsLimited(t *testing.T) {
	limited := &lineLimit{Reader: io.MultiReader(strings.NewReader("id,input\none,\""), endless{'\n'}), left: 1 << 16}
	reader := csv.NewReader(limited)
	if _, err := reader.Read(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Read(); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("error %v, want %v", err, bufio.ErrTooLong)
	}
	if got := (&dataFile{name: "a.csv"}).csvFault(bufio.ErrTooLong).Error(); !strings.Contains(got, "a.csv has a line of more than") {
		t.Error(got)
	}
}
