package scorers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/expr"
)

const (
	maxAnswer      = 200     // characters of an answer that are kept
	maxExplanation = 1000    // characters of what a judge says that are kept
	maxQuoted      = 60      // characters of a value that an explanation shows
	maxSearch      = 1 << 20 // bytes that are searched or parsed; what is longer is unscored
)

// text is how a value is compared as a text: a text as it is, anything else as JSON on one line, so that the number 18
// is the text 18.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	written, err := expr.AppendJSON(nil, value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(written)
}

// isEmpty: there is no answer in the value.
func isEmpty(value any) bool {
	if s, ok := value.(string); ok {
		return strings.TrimSpace(s) == ""
	}
	return value == nil
}

// short cuts a text to so many characters, of which the last is then an ellipsis.
func short(s string, characters int) string {
	if len(s) > characters {
		s = cut(s, characters)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func cut(s string, characters int) string {
	last := 0 // where the text is cut to make room for the ellipsis
	for i := 0; i < len(s); characters-- {
		if characters == 1 {
			last = i
		}
		if characters == 0 {
			return s[:last] + "…"
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s
}

// quoted is a text as an explanation shows it: on one line, and in quotes where one would not see what is in it.
func quoted(s string) string {
	shown := short(s, maxQuoted)
	if strings.TrimSpace(shown) != shown || strings.ContainsFunc(shown, unicode.IsControl) {
		return strconv.Quote(shown)
	}
	return shown
}

// searchable refuses a text that is too long to be searched or parsed.
func searchable(s string) error {
	if len(s) > maxSearch {
		return fmt.Errorf("the value has %d bytes; at most %d are searched", len(s), maxSearch)
	}
	return nil
}
