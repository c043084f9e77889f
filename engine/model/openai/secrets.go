package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// shortestSecret: redacting shorter values would eat ordinary words.
const shortestSecret = 6

// secrets are values that no message may hold, in every form in which a server
// could send them back.
type secrets struct{ replacer *strings.Replacer }

func secretsOf(o *Options, base *url.URL) secrets {
	values := []string{o.Key}
	for name, value := range o.Headers {
		if isSecret(name) {
			values = append(values, value, strings.TrimPrefix(value, "Bearer "))
		}
	}
	if password, ok := base.User.Password(); ok {
		values = append(values, password)
	}
	var pairs []string
	for _, value := range values {
		if len(value) >= shortestSecret {
			pairs = append(pairs, forms(value)...)
		}
	}
	return secrets{strings.NewReplacer(pairs...)}
}

// isSecret tells a header that carries a secret from one such as X-Title.
func isSecret(header string) bool {
	header = strings.ToLower(header)
	for _, part := range []string{"auth", "key", "token", "secret", "cookie", "password"} {
		if strings.Contains(header, part) {
			return true
		}
	}
	return false
}

// forms pairs each form of a value with what stands in its place.
func forms(value string) []string {
	quoted, _ := json.Marshal(value)
	var pairs []string
	for _, form := range []string{
		value,
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
		base64.URLEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
		strings.Trim(string(quoted), `"`),
	} {
		pairs = append(pairs, form, "[redacted]")
	}
	return pairs
}

func (s secrets) redact(message string) string { return s.replacer.Replace(message) }
