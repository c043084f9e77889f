package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
)

// TraceOptions are what tracing takes of the outside.
type TraceOptions struct {
	Getenv  func(string) string
	Version string // of agentbench
	Secrets *secret.Redactor
	// Warn is given what cannot be traced, before the first run and at the end.
	Warn func(error)
}

// StartTracing is a context whose runs of a suite are traced, if the environment asks for it, and a function that
// sends what is left.
func StartTracing(ctx context.Context, s *spec.Suite, o TraceOptions) (_ context.Context, end func()) {
	wanted, err := trace.Wanted(o.Getenv)
	if err == nil && !wanted {
		return ctx, func() {}
	}
	var tracing *trace.Tracing
	if err == nil {
		o.learn()
		tracing, err = trace.Open(ctx, trace.Options{
			Version: o.Version, Models: tracedModels(s), Contents: trace.ContentsWanted(o.Getenv), Redact: o.Secrets.String,
		})
	}
	if err != nil {
		o.Warn(fmt.Errorf("nothing is traced: %w", err))
		return ctx, func() {}
	}
	return trace.With(ctx, tracing), func() {
		if err := tracing.Close(); err != nil {
			o.Warn(err)
		}
	}
}

// learn makes the secrets known that a collector is called with.
func (o *TraceOptions) learn() {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		headers := map[string]string{}
		for pair := range strings.SplitSeq(o.Getenv(prefix+"HEADERS"), ",") {
			name, value, _ := strings.Cut(pair, "=")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		o.Secrets.Learn(secret.OfServer(o.Getenv(prefix+"ENDPOINT"), "", headers)...)
	}
}

// tracedModels describes the models of a suite.
func tracedModels(s *spec.Suite) map[string]trace.Model {
	all := map[string]trace.Model{}
	for i := range s.Models {
		name, declared := s.Models[i].Key, &s.Models[i].Value
		m := trace.Model{Provider: cmp.Or(conventional[declared.Provider], declared.Provider), Name: cmp.Or(declared.Name, name), Stream: declared.Stream}
		if server, calls := declared.Server(); calls {
			m.Address, m.Port = serverOf(cmp.Or(server.BaseURL, openai.DefaultURL))
		}
		all[name] = m
	}
	return all
}

// conventional are the names that OpenTelemetry's conventions give to providers, where they are not ours.
var conventional = map[string]string{
	"openai_responses": "openai", "azure": "azure.ai.openai", "gemini": "gcp.gemini", "mistral": "mistral_ai",
}

// serverOf is the host and the port of an address.
func serverOf(address string) (host string, port int) {
	base, err := url.Parse(address)
	if err != nil {
		return "", 0
	}
	if port, err = strconv.Atoi(base.Port()); err != nil {
		port = map[string]int{"http": 80, "https": 443}[base.Scheme]
	}
	return base.Hostname(), port
}
