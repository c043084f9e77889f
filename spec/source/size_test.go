package source

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000": 1000, "12B": 12, "1kB": 1000, "1KB": 1000, "1.5KiB": 1536, "500MB": 500e6, "2 GiB": 2 << 30, "1tb": 1e12,
	} {
		if got, err := Size(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "many", "-1", "NaN", "Inf", "1e30", "MB", "1PB"} {
		if got, err := Size(text); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}
