package secret

import (
	"io"
	"slices"
	"sync"
)

// Writer redacts what is written through it, also where a secret is split over
// several writes. It keeps back only an end of what was written that may be the
// beginning of a secret, and no more than a bound. It is safe for concurrent use.
type Writer struct {
	to      io.Writer
	secrets *Redactor

	mu   sync.Mutex
	text []byte // what may still matter
	sent int    // how much of the text was written on
}

// mostKept bounds what is kept back: no key of a usual shape is longer. Longer
// values are kept as long as they need.
const mostKept = 4 << 10

// mostReused is how much memory is kept for the next write.
const mostReused = 256 << 10

// Writer gives a writer that redacts into another one. Flush it at the end.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{to: to, secrets: r} }

// Unwrap gives the writer behind it.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write writes on what is certain. Its error is that of the writer behind it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	regions := w.secrets.find(w.text)
	if err := w.pass(regions, w.certain(regions)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was kept back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(w.secrets.find(w.text), len(w.text))
}

// certain is up to where no text that is still to come can change anything.
func (w *Writer) certain(regions []region) int {
	values := w.secrets.matcher()
	upTo, bound := min(values.open(w.text), openShape(w.text)), mostKept
	if values != nil {
		bound = max(bound, values.longest)
	}
	upTo = escapeBefore(w.text, upTo)
	if len(w.text)-upTo > bound {
		return len(w.text)
	}
	for _, r := range regions {
		ends := r.end > upTo || r.end+longestEscape > len(w.text) // what follows may be of the same escape, or make it a name
		if r.begin < upTo && ends {
			upTo = r.begin
		}
	}
	return max(upTo, w.sent)
}

// pass writes the text up to there, with its regions replaced, and forgets all
// but what the next text may need before it.
func (w *Writer) pass(regions []region, upTo int) error {
	var passed []region
	for _, r := range regions {
		if r.end > w.sent && r.end <= upTo {
			passed = append(passed, region{max(r.begin, w.sent), r.end})
		}
	}
	out := replace(nil, w.text[:upTo], w.sent, passed)
	keep := context(w.text, upTo)
	if cap(w.text) > mostReused {
		w.text = slices.Clone(w.text[keep:])
	} else {
		w.text = append(w.text[:0], w.text[keep:]...)
	}
	w.sent = upTo - keep
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// context is from where on a text matters for what follows a place: the token
// there, with a scheme, an escape or the name of a JSON member before it.
func context(text []byte, at int) int {
	const before = 32
	begin := at
	for begin > 0 && at-begin < mostKept && inToken[text[begin-1]] {
		begin--
	}
	return max(0, begin-before)
}
