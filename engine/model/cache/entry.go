package cache

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Head is what an entry says of itself beside the reply's text.
type Head struct {
	Key      string    `json:"key"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Task     string    `json:"task"`
	Trial    int       `json:"trial"` // from 1
	N        int       `json:"n"`     // the n-th equal request of its run, from 0
	Created  time.Time `json:"created"`

	Answered string        `json:"answered,omitempty"` // what the server says has answered
	Finish   string        `json:"finish"`
	Usage    record.Usage  `json:"usage"`
	Duration time.Duration `json:"duration_ns"` // of the call that was made

	// How many bytes of each stand behind the head.
	TextBytes     int `json:"text_bytes"`
	ThinkingBytes int `json:"thinking_bytes"`
	ToolCallBytes int `json:"tool_call_bytes,omitempty"`
}

// entry is a stored answer.
type entry struct {
	Head
	text, thinking string
	calls          []model.ToolCall
}

// An entry is a file of three parts: a line with the checksums (CRC-32C) of the
// other two, a line of JSON that is the head, and the reply's text and
// thinking as they came, then its tool calls as JSON where it has some:
//
//	agentbench cache 1 5a1c0f3e 00000000
//	{"key":"9f86…","provider":"openai","model":"m","task":"a","trial":1, …}
//	The answer is 42.
const (
	magic = "agentbench cache 1 "
	// firstLine is how long it is, line feed included.
	firstLine = len(magic) + 8 + 1 + 8 + 1
	// largest bounds the memory that a damaged file can take.
	largest = 128 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("the entry is damaged")

// IsDamaged says whether the error is about one entry, which the next answer
// replaces, and not about the cache.
func IsDamaged(err error) bool { return errors.Is(err, errDamaged) }

// write writes the entry, without another copy of its texts, which may be large.
func (e *entry) write(w io.Writer) error {
	calls, err := encodeCalls(e.calls)
	if err != nil {
		return err
	}
	head := e.Head
	head.TextBytes, head.ThinkingBytes, head.ToolCallBytes = len(e.text), len(e.thinking), len(calls)
	line, err := json.Marshal(&head)
	if err != nil {
		return err
	}
	size := firstLine + len(line) + 1 + len(e.text) + len(e.thinking) + len(calls)
	if size > largest {
		return fmt.Errorf("an entry holds %d MiB at most", largest>>20)
	}
	body := crc32.Update(checksumOf(checksumOf(0, e.text), e.thinking), castagnoli, calls)
	b := bufio.NewWriterSize(w, min(size, 64<<10))
	fmt.Fprintf(b, "%s%08x %08x\n%s\n", magic, crc32.Checksum(line, castagnoli), body, line)
	b.WriteString(e.text)
	b.WriteString(e.thinking)
	b.Write(calls)
	return b.Flush() // the first error of all writes
}

// checksumOf goes on with a checksum over a text.
func checksumOf(sum uint32, text string) uint32 {
	var part [4 << 10]byte
	for len(text) > 0 {
		n := copy(part[:], text)
		sum, text = crc32.Update(sum, castagnoli, part[:n]), text[n:]
	}
	return sum
}

// decode reads a whole entry.
func decode(b []byte) (*entry, error) {
	head, body, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	text, rest, ok := cut(body, head.TextBytes)
	thinking, calls, alsoOK := cut(rest, head.ThinkingBytes)
	if !ok || !alsoOK || len(calls) != head.ToolCallBytes || !bytes.Equal(checksum(body), b[len(magic)+9:firstLine-1]) {
		return nil, errDamaged
	}
	e := &entry{Head: *head, text: string(text), thinking: string(thinking)}
	e.calls, err = decodeCalls(calls)
	return e, err
}

// cut parts b behind its first n bytes, if it has so many.
func cut(b []byte, n int) (first, rest []byte, ok bool) {
	if n < 0 || n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// decodeHead reads the head and gives what follows it.
func decodeHead(b []byte) (head *Head, body []byte, err error) {
	if len(b) < firstLine || string(b[:len(magic)]) != magic || b[len(magic)+8] != ' ' || b[firstLine-1] != '\n' {
		return nil, nil, errDamaged
	}
	line, body, found := bytes.Cut(b[firstLine:], []byte{'\n'})
	if !found || !bytes.Equal(checksum(line), b[len(magic):len(magic)+8]) {
		return nil, nil, errDamaged
	}
	head = &Head{}
	if json.Unmarshal(line, head) != nil {
		return nil, nil, errDamaged
	}
	return head, body, nil
}

func checksum(b []byte) []byte {
	return fmt.Appendf(nil, "%08x", crc32.Checksum(b, castagnoli))
}

// reply is the answer as if the call had been made.
func (e *entry) reply() *model.Reply {
	return &model.Reply{
		Text: e.text, Thinking: e.thinking, ToolCalls: slices.Clone(e.calls), Answered: e.Answered, Finish: e.Finish,
		Usage: e.Usage, Duration: e.Duration, Cached: true,
	}
}

// normal says whether an answer is complete and of the kind that another call
// would give as well.
func normal(reply *model.Reply) bool {
	switch reply.Finish {
	case "stop", "length", "tool_calls":
		return true
	}
	return false
}
