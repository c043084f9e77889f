package secret

import "bytes"

// shape is how the keys of a vendor begin, and how long they are at least.
type shape struct {
	prefix string
	least  int
	// plain keys have letters and digits only behind the prefix.
	plain bool
	// random keys are told from words by what they are made of.
	random bool
}

// shapes are the usual ones, from the documentation of the vendors.
var shapes = []shape{
	{prefix: "sk-", least: 20, random: true}, // OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek
	{prefix: "sk_live_", least: 20, random: true},
	{prefix: "gsk_", least: 24, plain: true, random: true}, // Groq
	{prefix: "hf_", least: 30, plain: true},                // Hugging Face
	{prefix: "ghp_", least: 24, plain: true},
	{prefix: "gho_", least: 24, plain: true},
	{prefix: "ghs_", least: 24, plain: true},
	{prefix: "ghu_", least: 24, plain: true},
	{prefix: "github_pat_", least: 30},
	{prefix: "AKIA", least: 20, plain: true},
	{prefix: "ASIA", least: 20, plain: true},
	{prefix: "AIza", least: 30}, // Google
	{prefix: "xoxa-", least: 20, random: true},
	{prefix: "xoxb-", least: 20, random: true},
	{prefix: "xoxp-", least: 20, random: true},
	{prefix: "xoxr-", least: 20, random: true},
	{prefix: "xoxs-", least: 20, random: true},
}

// schemes stand before credentials in an Authorization header.
var schemes = []string{"Bearer ", "bearer ", "Basic ", "basic "}

// shortestToken is the length of the shortest key that any shape has, without a
// scheme: texts are searched for words of that length first.
const shortestToken = 20

// inToken are the characters of keys, those of base64 included.
var inToken = charactersOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=")

func charactersOf(text string) (set [256]bool) {
	for _, c := range []byte(text) {
		set[c] = true
	}
	return set
}

// findShapes appends where keys of a usual shape stand, in order.
func findShapes(found []region, text []byte) []region {
	// A token that is long enough covers one of the places looked at.
	for at := shortestToken - 1; at < len(text); {
		begin := tokenBegin(text, at)
		if at-begin+1 < shortestToken {
			at = begin + shortestToken - 1
			continue
		}
		for begin > 0 && inToken[text[begin-1]] {
			begin--
		}
		end := at + 1
		for end < len(text) && inToken[text[end]] {
			end++
		}
		found = findInToken(found, text, begin, end)
		at = end + shortestToken
	}
	return found
}

// tokenBegin is where the token begins that a place is within, or, where it is
// long enough, some place in it. Where there is none, it is behind the place.
func tokenBegin(text []byte, at int) int {
	for first := at - shortestToken + 1; at >= first && inToken[text[at]]; {
		at--
	}
	return at + 1
}

// findInToken looks for keys in a run of their characters.
func findInToken(found []region, text []byte, begin, end int) []region {
	if follows(text, begin) && random(text[begin:end]) {
		return append(found, region{begin, end})
	}
	for at := begin; at < end; at++ {
		if n := keyAt(text, at, end); n > 0 {
			found = append(found, region{at, at + n})
			at += n
		}
	}
	return found
}

// follows says whether a scheme stands right before that place.
func follows(text []byte, at int) bool {
	for _, scheme := range schemes {
		if bytes.HasSuffix(text[:at], []byte(scheme)) {
			return true
		}
	}
	return false
}

// keyAt is the length of the key that begins there, 0 if none does.
func keyAt(text []byte, at, end int) int {
	switch text[at] {
	case 's', 'g', 'h', 'A', 'x':
	default:
		return 0
	}
	for i := range shapes {
		s := &shapes[i]
		if !bytes.HasPrefix(text[at:end], []byte(s.prefix)) {
			continue
		}
		n := len(s.prefix)
		for at+n < end && s.has(text[at+n]) {
			n++
		}
		if n >= s.least && (!s.random || random(text[at+len(s.prefix):at+n])) && boundary(text, at) {
			return n
		}
	}
	return 0
}

// has says whether a key of the shape may hold the character.
func (s *shape) has(c byte) bool {
	return alphanumeric(c) || !s.plain && (c == '-' || c == '_')
}

func alphanumeric(c byte) bool { return digit(c) || letter(c) }
func digit(c byte) bool        { return c >= '0' && c <= '9' }
func letter(c byte) bool       { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// random tells a key from words: it has digits, and either letters of both cases
// or a long row of letters and digits.
func random(token []byte) bool {
	var digits, upper, lower bool
	row, longest := 0, 0
	for _, c := range token {
		digits = digits || digit(c)
		upper = upper || c >= 'A' && c <= 'Z'
		lower = lower || c >= 'a' && c <= 'z'
		row++
		if !alphanumeric(c) {
			row = 0
		}
		longest = max(longest, row)
	}
	return digits && (upper && lower || longest >= 16)
}

// boundary says whether a word can begin there: nothing stands before it that
// would be of the same word, unless it is the end of an escape (\n, \u003c, %3D).
func boundary(text []byte, at int) bool {
	if at == 0 || !alphanumeric(text[at-1]) && text[at-1] != '_' {
		return true
	}
	return at >= 2 && text[at-2] == '\\' || at >= 3 && text[at-3] == '%' ||
		at >= longestEscape && text[at-longestEscape] == '\\' && text[at-longestEscape+1] == 'u'
}

// openShape is where the end of a text may become a key with what follows; the
// text's length where nothing may.
func openShape(text []byte) int {
	begin := len(text)
	for begin > 0 && inToken[text[begin-1]] {
		begin--
	}
	open := openScheme(text, begin)
	for at := begin; at < open; at++ {
		if begun(text[at:]) && boundary(text, at) {
			return at
		}
	}
	return open
}

// openScheme is where a scheme begins that ends the text, whole or not, with the
// credentials as far as they go.
func openScheme(text []byte, token int) int {
	open := len(text)
	for _, scheme := range schemes {
		if bytes.HasSuffix(text[:token], []byte(scheme)) {
			open = min(open, token-len(scheme))
		}
		for n := len(scheme) - 1; n > 0; n-- {
			if bytes.HasSuffix(text, []byte(scheme[:n])) {
				open = min(open, len(text)-n)
				break
			}
		}
	}
	return open
}

// begun says whether a text is a key as far as it goes.
func begun(text []byte) bool {
	for i := range shapes {
		s := &shapes[i]
		n := common([]byte(s.prefix), text)
		if n == len(text) {
			return true
		}
		if n == len(s.prefix) && !bytes.ContainsFunc(text[n:], func(c rune) bool { return c > 127 || !s.has(byte(c)) }) {
			return true
		}
	}
	return false
}
