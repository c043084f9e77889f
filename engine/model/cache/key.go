package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/secret"
)

// Identity says who answers: what is sent beside the request and can change the
// answer.
type Identity struct {
	Provider string
	BaseURL  string // as declared; "" is the provider's own server. Credentials in it are not part of the key
	Model    string // the provider's name of it
	// Headers are sent with every request. Those that hold credentials are not
	// part of the key ([secret.Telling]): a new key asks for the same answers.
	Headers map[string]string
}

// Key identifies one draw of one request.
type Key [sha256.Size]byte

// String is the key in hexadecimal, 64 digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// keyFormat changes whenever the same call would get another key.
const keyFormat = "agentbench cache 1"

// prefix is the part of the key that all requests to one model share.
func (i *Identity) prefix() []byte {
	b := appendText(nil, keyFormat)
	for _, text := range []string{i.Provider, strings.TrimRight(secret.WithoutCredentials(i.BaseURL), "/"), i.Model} {
		b = appendText(b, text)
	}
	headers := map[string]string{}
	for name, value := range i.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); !secret.Telling(name) {
			headers[name] = value
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(headers)))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		b = appendText(appendText(b, name), headers[name])
	}
	return b
}

// sum is the key of a request but for n: what is sent, and for which task and
// trial.
func sum(prefix []byte, request *model.Request) Key {
	sent := request.Sum("")
	b := make([]byte, 0, len(prefix)+len(sent)+len(request.Draw.Task)+16)
	b = append(b, prefix...)
	b = append(b, sent[:]...)
	b = appendText(b, request.Draw.Task)
	b = binary.LittleEndian.AppendUint64(b, uint64(request.Draw.Trial))
	return sha256.Sum256(b)
}

// at is the key of a request that is made at a place beside others.
func (k Key) at(place string) Key {
	if place == "" {
		return k
	}
	return sha256.Sum256(append(k[:], place...))
}

// nth is the key of the n-th equal request of a run, from 0.
func (k Key) nth(n int) Key {
	var b [sha256.Size + 8]byte
	copy(b[:], k[:])
	binary.LittleEndian.PutUint64(b[sha256.Size:], uint64(n))
	return sha256.Sum256(b[:])
}

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}
