package stop

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// callSignature is the set of an iteration's tool calls as one text: sorted, so
// that the order of parallel calls does not matter. "" where there are none.
// Of what each call is made tells the signature option: calls (name and
// arguments), normalized (arguments without regard to case and white space),
// observations (with the results).
func callSignature(calls []record.ToolCall, option string) string {
	if len(calls) == 0 {
		return ""
	}
	parts := make([]string, len(calls))
	for i := range calls {
		parts[i] = calls[i].Tool + "\x00" + string(record.Canonical(calls[i].Arguments))
		switch option {
		case "normalized":
			parts[i] = strings.Join(strings.Fields(strings.ToLower(parts[i])), " ")
		case "observations":
			parts[i] += "\x00" + string(record.Canonical(calls[i].Result)) + string(calls[i].ResultB64)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01")
}

// errorSignature is the set of errors of tool calls that failed, all of them, as
// one text; "" where one succeeded or there is none.
func errorSignature(calls []record.ToolCall) string {
	var parts []string
	for i := range calls {
		if calls[i].Error == nil {
			return ""
		}
		parts = append(parts, calls[i].Error.Error())
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "\x01")
}
