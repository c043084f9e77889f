package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/expr"
)

// MaxResult is how many bytes of a result are kept: its head and its tail, half
// of it each.
const MaxResult = 256 << 10

// bounded keeps a result from filling the conversation. What is cut is a text:
// it is no JSON value any more.
func bounded(content json.RawMessage) json.RawMessage {
	if len(content) <= MaxResult {
		return content
	}
	text := string(content)
	if value, err := expr.ParseJSON(content); err == nil {
		if written, ok := value.(string); ok {
			text = written
		}
	}
	return Text(cut(text, MaxResult))
}

// cut keeps the head and the tail of a text that is too long.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, between, tail := ends(text, most)
	return strings.ToValidUTF8(head, "") + between + strings.ToValidUTF8(tail, "")
}

// ends are the head and the tail of what is too long, and what stands between them.
func ends[T string | []byte](written T, most int) (head T, between string, tail T) {
	half := most / 2
	return written[:half], fmt.Sprintf("\n… %d bytes cut …\n", len(written)-2*half), written[len(written)-half:]
}

// boundedBytes keeps the head and the tail of bytes that are no text.
func boundedBytes(written []byte) []byte {
	if len(written) <= MaxResult {
		return written
	}
	head, between, tail := ends(written, MaxResult)
	return slices.Concat(head, []byte(between), tail)
}

// maxFault is how many bytes of what is said of a failure are kept.
const maxFault = 4 << 10

// boundedFault keeps an error from filling the conversation.
func boundedFault(err error) error {
	failed, ok := errors.AsType[*record.Error](err)
	if !ok || len(failed.Message) <= maxFault {
		return err
	}
	told := *failed
	told.Message = fmt.Sprintf("%s … (%d bytes)", secret.Prefix(failed.Message, maxFault), len(failed.Message))
	return &told
}

// Text is a text as the content of a result; bytes that are not UTF-8 become
// U+FFFD.
func Text(text string) json.RawMessage {
	encoded, _ := expr.AppendJSON(make([]byte, 0, len(text)+2), strings.ToValidUTF8(text, "\uFFFD")) // a string always is JSON
	return encoded
}
