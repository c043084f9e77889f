package cache

import (
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
)

// storedCall is a tool call as an entry keeps it.
type storedCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encodeCalls gives nothing where there are none.
func encodeCalls(calls []model.ToolCall) ([]byte, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	stored := make([]storedCall, len(calls))
	for i, call := range calls {
		stored[i] = storedCall(call)
	}
	return json.Marshal(stored)
}

func decodeCalls(text []byte) ([]model.ToolCall, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var stored []storedCall
	if json.Unmarshal(text, &stored) != nil || len(stored) == 0 {
		return nil, errDamaged
	}
	calls := make([]model.ToolCall, len(stored))
	for i, call := range stored {
		calls[i] = model.ToolCall(call)
	}
	return calls, nil
}
