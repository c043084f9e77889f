package a2a

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"github.com/agentbench/agentbench/engine/record"
)

// connect is the agent at the endpoint that its card names. A card that could not
// be read is asked for again with the next task.
func (c *Client) connect(ctx context.Context) (*a2aclient.Client, error) {
	if remote := c.remote.Load(); remote != nil {
		return remote, nil
	}
	var place []agentcard.ResolveOption // the well-known one
	if strings.HasSuffix(c.address.Path, ".json") {
		place = append(place, agentcard.WithPath(""))
	}
	card, err := agentcard.NewResolver(c.http).Resolve(ctx, c.address.String(), place...)
	if err != nil {
		return nil, err
	}
	address, err := endpoint(card, c.address)
	if err != nil {
		return nil, err
	}
	remote, err := a2aclient.NewFromEndpoints(ctx, []a2a.AgentInterface{{Transport: a2a.TransportProtocolJSONRPC, URL: address}},
		a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(c.http),
		a2aclient.WithConfig(a2aclient.Config{Polling: true, AcceptedOutputModes: []string{"text/plain", "application/json"}}))
	if err != nil {
		return nil, err
	}
	c.remote.Store(remote)
	return remote, nil
}

// endpoint is the JSON-RPC address of a card. It must have the host that
// the agent was addressed at: a card does not send tasks and keys elsewhere.
func endpoint(card *a2a.AgentCard, address *url.URL) (string, error) {
	if v := card.ProtocolVersion; v != "" && !strings.HasPrefix(v, "0.3") && !strings.HasPrefix(v, "0.2") {
		return "", record.Errorf(record.InvalidRequest, "the agent's card is of protocol version %s; 0.3 is supported", v)
	}
	offers := append([]a2a.AgentInterface{{URL: card.URL, Transport: cmp.Or(card.PreferredTransport, a2a.TransportProtocolJSONRPC)}}, card.AdditionalInterfaces...)
	i := slices.IndexFunc(offers, func(o a2a.AgentInterface) bool { return o.URL != "" && o.Transport == a2a.TransportProtocolJSONRPC })
	if i < 0 {
		return "", record.Errorf(record.InvalidRequest, "the agent's card offers no JSONRPC of protocol version 0.3")
	}
	at, err := address.Parse(offers[i].URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		return "", record.Errorf(record.BadResponse, "the agent's card names %q, which is not an http or https address", offers[i].URL)
	}
	if !sameHost(at.Hostname(), address.Hostname()) {
		return "", record.Errorf(record.InvalidRequest, "the agent's card names another host, %s: set that as the address if it is right", at.Host)
	}
	return at.String(), nil
}

// sameHost takes all names of this machine for one: an agent here often
// names the address that it listens at.
func sameHost(a, b string) bool { return strings.EqualFold(a, b) || local(a) && local(b) }

func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
