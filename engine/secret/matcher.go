package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is a text to be found.
type form struct {
	text []byte
	// least is how much of it must be there: what was cut short, in an error
	// message for instance, is found as well.
	least int
}

// matcher finds any of many forms in one pass. It looks at the last two bytes of
// a window that is as long as the shortest form; a table says how far the window
// can be moved (S. Wu, U. Manber: A fast algorithm for multi-pattern searching,
// 1994).
type matcher struct {
	forms   []form
	window  int // at most 255
	longest int
	shift   [1 << 12]uint8
}

// cutShort is how many bytes of a value give it away, if they are half of it.
const cutShort = 12

func newMatcher(values []string) *matcher {
	m := &matcher{window: 255}
	for _, value := range values {
		for _, text := range formsOf(value) {
			f := form{text: []byte(text), least: min(len(text), max(cutShort, len(text)/2))}
			m.forms = append(m.forms, f)
			m.window = min(m.window, f.least)
			m.longest = max(m.longest, len(text))
		}
	}
	for i := range m.shift {
		m.shift[i] = uint8(m.window - 1)
	}
	for _, f := range m.forms {
		for i := range m.window - 1 {
			at := &m.shift[block(f.text[i], f.text[i+1])]
			*at = min(*at, uint8(m.window-2-i))
		}
	}
	return m
}

func block(a, b byte) int { return (int(a)<<5 ^ int(b)) & (1<<12 - 1) }

// find appends where forms stand, in order; they may overlap.
func (m *matcher) find(found []region, text []byte) []region {
	if m == nil {
		return found
	}
	for at := 0; at+m.window <= len(text); {
		end := at + m.window
		if skip := m.shift[block(text[end-2], text[end-1])]; skip > 0 {
			at += int(skip)
			continue
		}
		if n := m.longestAt(text[at:]); n > 0 {
			found = append(found, region{at, at + n})
		}
		at++
	}
	return found
}

// longestAt is how much of a form the text begins with, 0 if that is too little.
func (m *matcher) longestAt(text []byte) int {
	longest := 0
	for i := range m.forms {
		if n := common(m.forms[i].text, text); n >= m.forms[i].least {
			longest = max(longest, n)
		}
	}
	return longest
}

// common is how long two texts begin alike.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// open is where the end of a text may become a form with what follows; the
// text's length where nothing may.
func (m *matcher) open(text []byte) int {
	if m == nil {
		return len(text)
	}
	for at := max(0, len(text)-m.longest+1); at < len(text); at++ {
		for i := range m.forms {
			if bytes.HasPrefix(m.forms[i].text, text[at:]) {
				return at
			}
		}
	}
	return len(text)
}

// formsOf are the ways in which a value could stand in a text. As it is, it must
// not reach over quotes and lines: those may be JSON's own.
func formsOf(value string) []string {
	all := strings.FieldsFunc(value, func(c rune) bool { return c == '"' || c == '\n' || c == '\r' })
	inQuery, inPath := url.QueryEscape(value), url.PathEscape(value)
	all = append(all, inQuery, inPath, lowerEscapes(inQuery), lowerEscapes(inPath), html.EscapeString(value))
	quoted := inJSON(value)
	all = append(all, quoted, inJSON(quoted), inPlainJSON(value))
	digits := hex.EncodeToString([]byte(value))
	all = append(all, digits, strings.ToUpper(digits))
	for before := range 3 {
		all = append(all, inBase64(base64.StdEncoding, value, before)...)
		all = append(all, inBase64(base64.URLEncoding, value, before)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < Shortest || strings.ContainsAny(form, "\n\r") })
}

// inJSON is the value as encoding/json writes it by default.
func inJSON(value string) string {
	quoted, _ := json.Marshal(value) // a string can always be written
	return string(quoted[1 : len(quoted)-1])
}

// inPlainJSON is the value as JSON without escapes for HTML.
func inPlainJSON(value string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string can always be written
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := range b {
		if b[i] == '%' && i+2 < len(b) {
			copy(b[i+1:], strings.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 are the characters that a value gives when so many bytes stand before
// it, modulo 3: those that its neighbours have no part in, and all to the end
// where nothing follows it.
func inBase64(encoding *base64.Encoding, value string, before int) []string {
	encoded := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (8*before + 5) / 6
	whole := 8 * (before + len(value)) / 6
	return []string{encoded[first:whole], encoded[first:]}
}

// Prefix is the beginning of a text, at most so many bytes. It does not end
// within a word, for that could be half a secret, which nobody would know.
func Prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && (!utf8.RuneStart(text[end]) || inWord(text[end]) && inWord(text[end-1])) {
		end--
	}
	return text[:end]
}

// Shorten keeps a message to so many bytes, and its length.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", Prefix(text, most), len(text))
}

// inWord reports whether a secret may hold the character, escaped or not.
func inWord(c byte) bool { return inToken[c] || c == '%' }

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
	for at := begin; at < end; {
		n, isKey := keyAt(text, at, end)
		if isKey {
			found = append(found, region{at, at + n})
		}
		at += n
	}
	return found
}

// follows reports whether a scheme stands right before that place.
func follows(text []byte, at int) bool {
	return slices.ContainsFunc(schemes, func(scheme string) bool { return bytes.HasSuffix(text[:at], []byte(scheme)) })
}

// keyAt is the length of the key that begins there, or else how many bytes further another may begin.
func keyAt(text []byte, at, end int) (n int, isKey bool) {
	if !strings.ContainsRune("sghAx", rune(text[at])) || !boundary(text, at) {
		return 1, false
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
		switch {
		case n < s.least:
			return 1, false
		case s.random && !random(text[at+len(s.prefix):at+n]): // nor is any part of it
			return n, false
		}
		return n, true
	}
	return 1, false
}

// has reports whether a key of the shape may hold the character.
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

// boundary reports whether a word can begin there: nothing stands before it that
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

// begun reports whether a text is a key as far as it goes.
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

// region is a part of a text, from begin to before end.
type region struct{ begin, end int }

// longestEscape is that of \u003c.
const longestEscape = 6

// settle makes regions that can be replaced of what was found, of which the
// first so many are known values and the others shapes: they do not overlap, cut
// no escape of JSON in two, and are no part of its own numbers and names.
func settle(text []byte, found []region, known int) []region {
	kept := found[:0]
	for i, r := range found {
		if i < known && structural(text, r) {
			continue
		}
		kept = append(kept, region{escapeBefore(text, r.begin), escapeAfter(text, r)})
	}
	slices.SortFunc(kept, func(a, b region) int { return cmp.Compare(a.begin, b.begin) })
	return merge(kept)
}

// merge joins regions that overlap.
func merge(sorted []region) []region {
	var merged []region
	for _, r := range sorted {
		if last := len(merged) - 1; last >= 0 && r.begin < merged[last].end {
			merged[last].end = max(merged[last].end, r.end)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// replace appends the text from a place on, with its regions replaced.
func replace(dst, text []byte, from int, regions []region) []byte {
	for _, r := range regions {
		dst = append(append(dst, text[from:r.begin]...), Replacement...)
		from = r.end
	}
	return append(dst, text[from:]...)
}

// structural reports whether a known value is there by chance: a number that is
// the value of a JSON member, or the name of a member that is one plain word.
func structural(text []byte, r region) bool {
	value := text[r.begin:r.end]
	switch {
	case all(value, inNumber):
		before := r.begin
		for before > 0 && inNumber(text[before-1]) {
			before--
		}
		return bytes.HasSuffix(bytes.TrimRight(text[:before], " "), []byte(`":`))
	case all(value, inName):
		return r.begin > 0 && text[r.begin-1] == '"' && bytes.HasPrefix(text[r.end:], []byte(`":`))
	}
	return false
}

func all(text []byte, is func(byte) bool) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !is(c) })
}

func inNumber(c byte) bool {
	return digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}
func inName(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

// escapeBefore is where the escape begins that a place is within, else the place.
func escapeBefore(text []byte, at int) int {
	for begin := max(0, at-longestEscape+1); begin < at; begin++ {
		if escaping(text, begin) && begin+escapeLength(text, begin) > at {
			return begin
		}
	}
	return at
}

// escapeAfter is where the escape ends that the end of a region is within, else
// that end.
func escapeAfter(text []byte, r region) int {
	begin := escapeBefore(text, r.end)
	if begin == r.end {
		return r.end
	}
	return min(len(text), begin+escapeLength(text, begin))
}

// escaping reports whether a backslash begins an escape there, and is none itself.
func escaping(text []byte, at int) bool {
	n := 0
	for n <= at && text[at-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func escapeLength(text []byte, at int) int {
	if at+1 < len(text) && text[at+1] == 'u' {
		return longestEscape
	}
	return 2
}

var (
	userOfAddress = regexp.MustCompile(`(?://(?:[^\s/@:"']*:)?|…)([^\s/@:"']+)@`)
	// namedValue is a header with its value, or a word that names nothing but a
	// secret.
	namedValue = regexp.MustCompile(`(?i)((?:\w+-)+\w+|authorization|cookie|api_?key|password)["']?[:=]\s*\[?["']?([^"',}\]\n]+)`)
	// tokenValue is the value of a key such as token, client_secret or accessToken.
	tokenValue = regexp.MustCompile(`(?i)(?:token|secret)["']?:[ \t]*\[?["']?([^\s"',{}\]][^"',}\]\n]*)`)
	parameter  = regexp.MustCompile(`[?&;#]([^=?&;\s"'#]+)=([^&;\s"'#]+)`)
	// quoted is a text in quotes, which may be one word of a program.
	quoted = regexp.MustCompile(`"([^"\n]*)"|'([^'\n]*)'`)
	// variables are what stands where names of variables belong: one, a list or a mapping.
	variables = regexp.MustCompile(`\b(?:api_key_)?env["']?:[ \t]*(?:\n[ \t]*-[ \t]+)?(\[[^\]\n]*|\{[^}\n]*|"[^"\n]*|'[^'\n]*|[^,}\]\n]*)`)
)

// OfText are what may be the secrets of a suite that could not be loaded, in a
// part of its text: messages show its lines.
func OfText(text string) []string {
	values := ofAddresses(text)
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`"',[]{}`, c) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "-" || strings.HasSuffix(word, ":") })
	values = append(values, OfArguments(words)...)
	for _, found := range quoted.FindAllStringSubmatch(text, -1) {
		values = append(values, OfArguments([]string{found[1] + found[2]})...)
	}
	for _, found := range variables.FindAllStringSubmatch(text, -1) {
		for entry := range strings.SplitSeq(found[1], ",") {
			name, held, isPair := strings.Cut(entry, ": ")
			if !isPair {
				held = name
			}
			if held = strings.Trim(held, "[]{}\"' \t"); held != "" {
				values = append(values, notVariables(held)...)
			}
		}
	}
	for _, found := range namedValue.FindAllStringSubmatch(text, -1) {
		if Telling(found[1]) {
			values = append(values, strings.TrimSpace(found[2]))
		}
	}
	for _, found := range tokenValue.FindAllStringSubmatch(text, -1) {
		values = append(values, strings.TrimSpace(found[1]))
	}
	return once(values)
}

// ofAddresses are the users and parameters of addresses anywhere in a text.
func ofAddresses(text string) []string {
	var values []string
	for _, found := range userOfAddress.FindAllStringSubmatch(text, -1) {
		values = append(values, found[1])
	}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		if name, err := url.QueryUnescape(found[1]); err != nil || tellingParameter(name) {
			values = append(values, found[2])
		}
	}
	return values
}
