package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/secret"
)

// Identity says who answers: what is sent beside the request and can change the answer.
type Identity struct {
	Provider string
	BaseURL  string // as declared; "" is the provider's own server. Credentials in it are not part of the key
	Model    string // the provider's name of it
	// Headers are sent with every request. Those that hold credentials are not part of the key ([secret.Telling]):
	// with a new key for the provider, the answers are the same.
	Headers map[string]string
	// Settings are what the model's declaration changes of the answers, in any form; "": nothing.
	Settings string
}

// prefix is the part that the keys of all requests to one model share.
func (i *Identity) prefix() string {
	headers := map[string]string{}
	for name, value := range i.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); !secret.Telling(name) {
			headers[name] = value
		}
	}
	server := strings.TrimRight(secret.WithoutCredentials(i.BaseURL), "/")
	return fmt.Sprintf("agentbench cache 2 %q %q %q %q %q", i.Provider, server, i.Model, headers, i.Settings) // maps are printed in order
}

// Key identifies one draw of one request.
type Key [sha256.Size]byte

// String is the key in hexadecimal, 64 digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// requestKey is the key of all equal requests of a run that are made at a place beside others.
func requestKey(prefix string, request *model.Request, place string) Key {
	return sha256.Sum256(fmt.Appendf(nil, "%s %x %q %d %q", prefix, request.Sum(""), request.Draw.Task, request.Draw.Trial, place))
}

// nth is the key of the n-th of them, from 0.
func (k Key) nth(n int) Key { return sha256.Sum256(fmt.Appendf(nil, "%s %d", k, n)) }

type runKey struct{}

// WithRun begins a run: the calls under the context are numbered, so that each of several equal requests is a draw of
// its own. Without it every call is the first.
func WithRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, &numbers{taken: map[Key][]bool{}})
}

func numbersOf(ctx context.Context) *numbers {
	if n, ok := ctx.Value(runKey{}).(*numbers); ok {
		return n
	}
	return &numbers{taken: map[Key][]bool{}}
}

// numbers are those of the equal requests of a run.
type numbers struct {
	mu    sync.Mutex
	taken map[Key][]bool
}

// take gives the lowest number that no equal request has.
func (n *numbers) take(request Key) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	lowest := slices.Index(n.taken[request], false)
	if lowest < 0 {
		lowest = len(n.taken[request])
		n.taken[request] = append(n.taken[request], false)
	}
	n.taken[request][lowest] = true
	return lowest
}

// giveBack frees the number of a call that failed: made again, it is the same draw.
func (n *numbers) giveBack(request Key, number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken[request][number] = false
}
