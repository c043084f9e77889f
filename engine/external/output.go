package external

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agentbench/agentbench/engine/secret"
)

// maxSaid is how many bytes an error quotes.
const maxSaid = 300

// complaint matches a line in which a program says what is wrong.
var complaint = regexp.MustCompile(`(?i)error|exception|panic|fatal|fail|\berr\b|cannot|can't|could not|unable|denied|refused|not found|no such|invalid|missing`)

// errorLine is the line of a program's stderr that says what was wrong: of its last 20
// lines the last that complains, else the last one. Indented lines, as those of a stack
// trace, and lines without a letter do not count.
func errorLine(text string) string {
	const most = 20
	lines := slices.DeleteFunc(strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n"), func(line string) bool {
		return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || !strings.ContainsFunc(line, unicode.IsLetter)
	})
	lines = lines[max(0, len(lines)-most):]
	for _, line := range slices.Backward(lines) {
		if complaint.MatchString(line) {
			return short(strings.TrimSpace(line))
		}
	}
	if len(lines) > 0 {
		return short(strings.TrimSpace(lines[len(lines)-1]))
	}
	text = strings.TrimSpace(text) // all lines are indented, or without a letter
	return short(text[strings.LastIndexByte(text, '\n')+1:])
}

// short keeps what programs and endpoints say to the beginning that a message has room for.
func short(text string) string {
	if len(text) > maxSaid {
		text = strings.TrimSpace(secret.Prefix(text, maxSaid)) + " …"
	}
	return text
}

// capture keeps the head and the tail of what is written, half of the limit
// each. It can be read while it is written.
type capture struct {
	mu    sync.Mutex
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int64
}

func newCapture(limit int) *capture { return &capture{half: max(1, limit/2)} }

// Write never fails and never stops the writer.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := append([]byte(nil), c.head...)
	if cut := c.Cut(); cut > 0 {
		kept = fmt.Appendf(kept, "\n… %d bytes cut …\n", cut)
	}
	kept = append(kept, c.tail[c.next:]...)
	return append(kept, c.tail[:c.next]...)
}
