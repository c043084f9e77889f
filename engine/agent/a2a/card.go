package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// places are where agents keep their cards, the older place last.
var places = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// endpoint is where and how an agent is spoken to.
type endpoint struct {
	url    string
	wire   wire
	tenant string // "": none
}

// endpoint is what the agent's card says. A card that could not be read is asked
// for again with the next task.
func (c *Client) endpoint(ctx context.Context) (*endpoint, error) {
	c.mu.Lock()
	known := c.card
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	text, err := c.findCard(ctx)
	if err != nil {
		return nil, err
	}
	found, err := readCard(text, c.address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.card = found
	return found, nil
}

// findCard looks for the card in its places; an address that ends in .json is one
// itself.
func (c *Client) findCard(ctx context.Context) ([]byte, error) {
	if strings.HasSuffix(c.address.Path, ".json") {
		return c.get(ctx, c.address.String())
	}
	var first error
	for _, place := range places {
		at := *c.address
		at.Path = strings.TrimSuffix(at.Path, "/") + place
		text, err := c.get(ctx, at.String())
		refused, ok := errors.AsType[*statusError](err)
		if !ok || refused.status != http.StatusNotFound && refused.status != http.StatusGone {
			return text, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func (c *Client) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, record.Errorf(record.InvalidRequest, "asking for the agent's card: %v", err)
	}
	status, text, err := c.do(request, maxCard)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, c.refused(status, text, "the agent's card at "+address)
	}
	return text, nil
}

// card is what is read of an agent's card: 1.0 lists interfaces, before it there
// was one address with a transport, and others beside it.
type card struct {
	Supported  []face `json:"supportedInterfaces"`
	URL        string `json:"url"`
	Transport  string `json:"preferredTransport"`
	Additional []face `json:"additionalInterfaces"`
	Version    string `json:"protocolVersion"`
}

type face struct {
	URL       string `json:"url"`
	Binding   string `json:"protocolBinding"`
	Transport string `json:"transport"`
	Version   string `json:"protocolVersion"`
	Tenant    string `json:"tenant"`
}

// faces are all interfaces of a card, the preferred one first.
func (c *card) faces() []face {
	all := c.Supported
	if c.URL != "" {
		all = append(all, face{URL: c.URL, Binding: cmp.Or(c.Transport, jsonRPC), Version: c.Version})
	}
	for _, f := range c.Additional {
		all = append(all, face{URL: f.URL, Binding: f.Transport, Version: c.Version})
	}
	return all
}

const jsonRPC = "JSONRPC"

// readCard takes the newest wire that both speak. The agent must have the host that
// it was addressed at: a card does not send tasks and keys elsewhere.
func readCard(text []byte, address *url.URL) (*endpoint, error) {
	var read card
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, record.Errorf(record.BadResponse, "the agent's card is not what the protocol promises: %v", err)
	}
	var best *endpoint
	var others []string
	for _, f := range read.faces() {
		spoken := wireOf(f.Version)
		if f.Binding != jsonRPC || spoken == (wire{}) {
			others = append(others, strings.TrimSpace(f.Binding+" "+f.Version))
			continue
		}
		if best == nil || best.wire == wire03 && spoken == wire10 {
			best = &endpoint{url: f.URL, wire: spoken, tenant: f.Tenant}
		}
	}
	if best == nil {
		return nil, record.Errorf(record.InvalidRequest, "the agent's card offers neither JSONRPC 0.3 nor 1.0; it has %s", cmp.Or(strings.Join(others, ", "), "no interface"))
	}
	at, err := address.Parse(best.url)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		return nil, record.Errorf(record.BadResponse, "the agent's card names %q, which is not an http or https address", best.url)
	}
	if !sameHost(at.Hostname(), address.Hostname()) {
		return nil, record.Errorf(record.InvalidRequest, "the agent's card names another host, %s: set that as the address if it is right", at.Host)
	}
	best.url = at.String()
	return best, nil
}

// wireOf is how a version is spoken; a card without a version is an old one.
func wireOf(version string) wire {
	switch {
	case version == "" || strings.HasPrefix(version, "0.2") || strings.HasPrefix(version, "0.3"):
		return wire03
	case version == "1" || strings.HasPrefix(version, "1."):
		return wire10
	}
	return wire{}
}

// sameHost takes all names of this machine for one: an agent here often
// names the address that it listens at.
func sameHost(a, b string) bool { return strings.EqualFold(a, b) || local(a) && local(b) }

func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
