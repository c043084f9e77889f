package external

import "fmt"

// capture keeps the head and the tail of what is written, half of the limit
// each.
type capture struct {
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int64
}

func newCapture(limit int) *capture { return &capture{half: max(1, limit/2)} }

// Write never fails and never stops the writer.
func (c *capture) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	rest := p
	if room := c.half - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	if len(rest) > c.half {
		rest = rest[len(rest)-c.half:]
	}
	if room := c.half - len(c.tail); room > 0 {
		n := min(room, len(rest))
		c.tail, rest = append(c.tail, rest[:n]...), rest[n:]
	}
	for len(rest) > 0 {
		n := copy(c.tail[c.next:], rest)
		c.next, rest = (c.next+n)%c.half, rest[n:]
	}
	return len(p), nil
}

// Cut is how many bytes were dropped.
func (c *capture) Cut() int64 { return c.total - int64(len(c.head)) - int64(len(c.tail)) }

// Bytes is what was kept, with a note where bytes are missing.
func (c *capture) Bytes() []byte {
	kept := append([]byte(nil), c.head...)
	if cut := c.Cut(); cut > 0 {
		kept = fmt.Appendf(kept, "\n… %d bytes cut …\n", cut)
	}
	kept = append(kept, c.tail[c.next:]...)
	return append(kept, c.tail[:c.next]...)
}
