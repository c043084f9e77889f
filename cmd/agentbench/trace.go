package main

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

// trace lets the runs of a suite be traced, where the environment asks for it.
// That traces cannot be sent fails nothing: it is only told.
func (p *program) trace(ctx context.Context, s *spec.Suite) (context.Context, func()) {
	wanted, err := trace.Wanted(p.env)
	if err != nil {
		p.warnOfTrace(fmt.Errorf("nothing is traced: %w", err))
	}
	if !wanted {
		return ctx, func() {}
	}
	p.learnTrace()
	exporter, err := trace.Open(ctx, trace.Options{Version: version(), Redact: p.secrets.String, Warn: p.warnOfTrace})
	if err != nil {
		p.warnOfTrace(err)
		return ctx, func() {}
	}
	traced := trace.With(ctx, &trace.Tracing{Tracer: exporter, Models: tracedModels(s), Contents: trace.Contents(p.env)})
	return traced, func() {
		if err := exporter.Close(); err != nil {
			p.warnOfTrace(err)
		}
	}
}

func (p *program) warnOfTrace(err error) {
	line := fmt.Sprintf("agentbench: warning: traces: %v", err)
	if p.isTerminal(p.err) {
		line = clearLine + line
	}
	fmt.Fprintln(p.err, line)
}

// learnTrace makes the secrets known that a collector is called with.
func (p *program) learnTrace() {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		headers := map[string]string{}
		for pair := range strings.SplitSeq(p.env(prefix+"HEADERS"), ",") {
			name, value, _ := strings.Cut(pair, "=")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		p.secrets.Learn(secret.OfServer(p.env(prefix+"ENDPOINT"), "", headers)...)
	}
}

// tracedModels is what traces say of a suite's models.
func tracedModels(s *spec.Suite) map[string]trace.Model {
	all := map[string]trace.Model{}
	for i := range s.Models {
		name, declared := s.Models[i].Key, &s.Models[i].Value
		m := trace.Model{Provider: declared.Provider, Name: cmp.Or(declared.Name, name)}
		if declared.Provider == "openai" {
			m.Address, m.Port = serverOf(cmp.Or(declared.BaseURL, openai.DefaultURL))
		}
		all[name] = m
	}
	return all
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
