package secret

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Of are the secrets of a spec, given as what its JSON decodes to: what stands in
// addresses and in the arguments of programs, wherever in the spec they are, what
// headers hold or take from the environment, and the variables that models and
// programs are given. No key of the language has to be named here for its addresses
// to be looked at. Tasks are left out: they are data.
func Of(spec any, getenv func(string) string) []string {
	o := sources{getenv: getenv}
	o.value("", spec)
	return slices.DeleteFunc(o.found, func(value string) bool { return value == "" })
}

type sources struct {
	getenv func(string) string
	found  []string
}

func (s *sources) add(values ...string) { s.found = append(s.found, values...) }

// value looks at what stands under a key.
func (s *sources) value(key string, value any) {
	switch v := value.(type) {
	case string:
		s.add(OfAddress(v)...)
		if key == "api_key_env" {
			s.variable(v, true)
		}
	case json.Number:
		s.value(key, v.String())
	case []any:
		s.list(key, v)
	case map[string]any:
		for name, held := range v {
			switch {
			case key == "headers", key == "env":
				s.header(name, held)
			case name != "tasks":
				s.value(name, held)
			}
		}
	}
}

// list looks at the words of a program, at names of variables, and at each entry.
func (s *sources) list(key string, all []any) {
	var words []string
	for _, entry := range all {
		s.value("", entry)
		words = append(words, fmt.Sprint(entry))
	}
	switch key {
	case "command", "test":
		s.add(OfArguments(words)...)
	case "env":
		for _, name := range words {
			s.variable(name, Telling(name))
		}
	}
}

// variable looks at a variable of the environment: all that it holds is secret, or
// what in it has a telling name; and what is no name of a variable is one itself.
func (s *sources) variable(name string, whole bool) {
	held := s.getenv(name)
	s.add(notVariables(name)...)
	s.add(OfArguments([]string{held})...)
	if whole {
		s.add(held)
	}
}

// header looks at a header: a text, or what is taken from the environment.
func (s *sources) header(name string, held any) {
	switch v := held.(type) {
	case string:
		s.add(OfArguments([]string{v})...)
		if Telling(name) {
			s.add(v)
		}
	case json.Number:
		s.header(name, v.String())
	case map[string]any:
		if variable, ok := v["env"].(string); ok {
			s.variable(variable, true)
		}
	}
}

// OfServer are the secrets that a server is called with: the key, what headers
// with a telling name hold, and what stands in the address.
func OfServer(address, key string, headers map[string]string) []string {
	values := append([]string{key}, OfAddress(address)...)
	for name, value := range headers {
		if Telling(name) {
			values = append(values, value)
		}
	}
	return values
}

// address is a text that is nothing but an address.
var address = regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9+.-]*://\S+\s*$`)

// OfAddress are the password of an address, its user where it has no password,
// and parameters with a telling name, as they are written and as they are meant.
// Text that is no address has none.
func OfAddress(text string) []string {
	if !address.MatchString(text) {
		return nil
	}
	base, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return ofAddresses(text)
	}
	var values []string
	add := func(written string, unescape func(string) (string, error)) {
		values = append(values, written)
		if meant, err := unescape(written); err == nil && meant != written {
			values = append(values, meant)
		}
	}
	if base.User != nil {
		_, rest, _ := strings.Cut(text, "://")
		authority := strings.FieldsFunc(rest, func(c rune) bool { return c == '/' || c == '?' || c == '#' })[0]
		user, password, ok := strings.Cut(authority[:max(0, strings.LastIndex(authority, "@"))], ":")
		if !ok {
			password = user
		}
		add(password, url.PathUnescape)
	}
	for _, written := range []string{base.RawQuery, base.EscapedFragment()} {
		for pair := range strings.FieldsFuncSeq(written, func(c rune) bool { return c == '&' || c == ';' }) {
			name, value, _ := strings.Cut(pair, "=")
			if meant, err := url.QueryUnescape(name); err == nil {
				name = meant
			}
			if tellingParameter(name) {
				add(value, url.QueryUnescape)
			}
		}
	}
	return values
}

// WithoutCredentials is an address without what says who asks, which is what
// OfAddress finds.
func WithoutCredentials(address string) string {
	base, err := url.Parse(address)
	if err != nil || base.User == nil && base.RawQuery == "" && base.Fragment == "" {
		return address
	}
	base.User, base.Fragment, base.RawFragment = nil, "", "" // a fragment is sent to no server
	query := base.Query()
	for name := range query {
		if tellingParameter(name) {
			query.Del(name)
		}
	}
	base.RawQuery = query.Encode()
	return base.String()
}

// OfArguments are the secrets among the words of a program: of --api-key X and
// --api-key=X, API_KEY=X, of a header as in -H "X-Api-Key: X", of user:X behind -u,
// and within any word what stands in addresses, in connection strings and behind
// other telling names; within the commands of a shell as well.
func OfArguments(words []string) []string {
	var values []string
	for i, word := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		flag := strings.TrimLeft(word, "-")
		name, value, given := strings.Cut(flag, "=")
		header, held, isHeader := strings.Cut(word, ":")
		given, isHeader = given && plainName.MatchString(name), isHeader && Telling(header) && plainName.MatchString(header)
		user, isUser := userOf(word, next)
		switch {
		case address.MatchString(word):
			values = append(values, OfAddress(word)...)
		case strings.ContainsFunc(word, unicode.IsSpace) && !isHeader:
			values = append(append(values, named(word)...), OfArguments(strings.FieldsFunc(word, betweenWords))...)
		case isUser:
			values = append(values, user)
		case given && telling(name):
			values = append(values, value)
			if strings.Contains(value, "=") || strings.Contains(value, "://") { // also a connection string
				values = append(values, OfArguments([]string{value})...)
			}
		case given:
			values = append(values, OfArguments([]string{value})...)
			values = append(values, named(word)...)
		case flag != word && telling(flag) && !strings.HasPrefix(next, "-"):
			values = append(values, next)
		case isHeader && strings.TrimSpace(held) != "":
			values = append(values, strings.TrimSpace(held))
		case isHeader && scheme(next) && i+2 < len(words):
			values = append(values, words[i+2])
		case isHeader:
			values = append(values, next)
		default:
			values = append(values, named(word)...)
		}
	}
	return once(values)
}

// once are the values that are not empty, each once.
func once(values []string) (kept []string) {
	for _, value := range values {
		if value != "" && !slices.Contains(kept, value) {
			kept = append(kept, value)
		}
	}
	return kept
}

// userFlag is a flag that is followed by user:password, as that of curl: in one word
// with it, or alone; other flags without a value may stand before its letter.
var userFlag = regexp.MustCompile(`^(?:-[fgikLnNOsSv]*[uU]|--(?:proxy-)?user(?:=|$))(.*)$`)

// userOf is the password of the user that a word names, or the word behind it.
func userOf(word, next string) (password string, ok bool) {
	found := userFlag.FindStringSubmatch(word)
	if found == nil {
		return "", false
	}
	pair := found[1]
	if pair == "" {
		pair = next
	}
	user, password, ok := strings.Cut(pair, ":")
	return password, ok && !address.MatchString(pair) && !strings.HasPrefix(user, "-") && !strings.Contains(user, "=")
}

var (
	// plainName is the name of a flag, a variable or a header.
	plainName = regexp.MustCompile(`^[\w.-]+$`)
	// quotedValue is a quoted value with its name, as in JSON and in connection strings.
	quotedValue = regexp.MustCompile(`([A-Za-z][\w.-]*)["']?\s*[=:]\s*(?:"([^"]*)"|'([^']*)')`)
	// connection is a text of names and values such as Server=x;Password=y.
	connection = regexp.MustCompile(`^\s*[A-Za-z][\w .-]*=[^;]*(?:;\s*[A-Za-z][\w .-]*=[^;]*)+;?\s*$`)
)

// named are what stands in a text behind telling names: in connection strings, in
// JSON, in lists of settings, in parameters of what is no plain address.
func named(text string) (values []string) {
	for _, found := range quotedValue.FindAllStringSubmatch(text, -1) {
		if telling(found[1]) {
			values = append(values, found[2]+found[3])
		}
	}
	parts := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`;&?#,|"'`, c) })
	if connection.MatchString(text) { // values may hold any character but a semicolon
		parts = append(parts, strings.Split(text, ";")...)
	}
	for _, part := range parts {
		if name, value, ok := strings.Cut(part, "="); ok && telling(name) {
			values = append(values, strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return once(values)
}

// notVariables are what stands in place of the name of a variable and is none:
// someone has written the value there, alone or as NAME=value.
func notVariables(text string) []string {
	if _, value, ok := strings.Cut(text, "="); ok {
		return []string{value}
	}
	if !variable.MatchString(text) || strings.ContainsAny(text, "0123456789") && strings.ToUpper(text) != text {
		return []string{text}
	}
	return nil
}

// variable is the name of a variable of the environment.
var variable = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// betweenWords parts the words of a shell.
func betweenWords(c rune) bool { return unicode.IsSpace(c) || c == '"' || c == '\'' || c == ';' }

// scheme reports whether a word says how credentials are meant that follow it.
func scheme(word string) bool {
	return slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), word) })
}

// Telling says by its name that a header or a variable holds a secret. What it
// says of a header decides the keys of the cache as well.
func Telling(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "key", "token", "secret", "cookie", "credential", "password"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// tellingParameter says it of a parameter of an address: those of signed addresses
// (sig of Azure, X-Amz-Signature) and of keys of functions (code) among them.
func tellingParameter(name string) bool {
	return Telling(name) || telling(name) || strings.EqualFold(name, "code")
}

// tellingWords are what a name ends in that holds a secret.
var tellingWords = []string{
	"key", "apikey", "token", "secret", "password", "passwd", "pwd", "pass", "passphrase", "credential", "credentials", "auth", "authorization",
	"cookie", "bearer", "sig", "signature", "sas", "jwt", "pat", "sshpass",
}

// tellingEnds are what the last word of such a name ends in, where it is more than
// one word written as one: PGPASSWORD, accountkey.
var tellingEnds = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "accountkey", "accesstoken", "authtoken"}

// telling says it of a flag of a program or of a variable that it is given, by its
// last word: --api-key and apiKey, not --max-tokens, --key-file nor --tokenizer.
func telling(name string) bool {
	words := strings.FieldsFunc(lastCapital(name), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	if len(words) == 0 {
		return false
	}
	last := strings.ToLower(words[len(words)-1])
	return slices.Contains(tellingWords, last) || slices.ContainsFunc(tellingEnds, func(end string) bool { return strings.HasSuffix(last, end) })
}

// lastCapital puts a space before the last word of a name such as apiKey.
func lastCapital(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if unicode.IsUpper(rune(name[i])) && unicode.IsLower(rune(name[i-1])) {
			return name[:i] + " " + name[i:]
		}
	}
	return name
}
