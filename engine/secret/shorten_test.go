package secret

import "testing"

// A text that is shortened ends between words.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", "12 45": "12 45", "12 456": "12  … (6 bytes)", "word": "word", "a wordy": "a  … (7 bytes)"} {
		if got := Shorten(text, 5); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
