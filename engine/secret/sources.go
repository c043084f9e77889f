package secret

import (
	"net/url"

	"github.com/agentbench/agentbench/spec"
)

// OfSuite are the secrets of all models of a suite.
func OfSuite(s *spec.Suite, getenv func(string) string) []string {
	var values []string
	for i := range s.Models {
		m := &s.Models[i].Value
		key := ""
		if m.APIKeyEnv != "" {
			key = getenv(m.APIKeyEnv)
		}
		values = append(values, OfServer(m.BaseURL, key, m.Headers)...)
	}
	return values
}

// OfLoops are the secrets of what loops reach beside models: what headers take
// from the environment, what stands in addresses, and variables with a telling
// name that programs are given.
func OfLoops(loops []*spec.Loop, getenv func(string) string) []string {
	var values []string
	for _, l := range loops {
		for _, server := range l.Servers() {
			values = append(values, ofAddress(server.URL)...)
			for _, header := range server.Headers {
				if header.Value.Env != "" {
					values = append(values, getenv(header.Value.Env))
				}
			}
		}
		for _, name := range l.Variables() {
			if Telling(name) {
				values = append(values, getenv(name))
			}
		}
	}
	return values
}

// OfServer are the secrets that a server is called with: the key, what headers
// with a telling name hold, and what stands in the address.
func OfServer(address, key string, headers map[string]string) []string {
	values := append([]string{key}, ofAddress(address)...)
	for name, value := range headers {
		if Telling(name) {
			values = append(values, value)
		}
	}
	return values
}

// ofAddress are the password of an address, its user where it has no password,
// and parameters with a telling name.
func ofAddress(address string) []string {
	base, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var values []string
	if password, ok := base.User.Password(); ok {
		values = append(values, password)
	} else if user := base.User.Username(); user != "" {
		values = append(values, user)
	}
	for name, all := range base.Query() {
		if Telling(name) {
			values = append(values, all...)
		}
	}
	return values
}

// WithoutCredentials is an address without what says who asks, which is what
// ofAddress finds.
func WithoutCredentials(address string) string {
	base, err := url.Parse(address)
	if err != nil || base.User == nil && base.RawQuery == "" {
		return address
	}
	base.User = nil
	query := base.Query()
	for name := range query {
		if Telling(name) {
			query.Del(name)
		}
	}
	base.RawQuery = query.Encode()
	return base.String()
}

// Telling says by its name that a header or a parameter holds a secret. What it
// says of a header decides the keys of the cache as well.
func Telling(name string) bool { return spec.HoldsSecret(name) }
