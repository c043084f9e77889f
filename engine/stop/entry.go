package stop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// entry is an iteration of a history.
type entry struct {
	*record.Iteration
	value  any
	parsed bool
	hash   string // of the output; "" until a guard asks for it
	// adaptation is what these rules change for the next iteration, which is not
	// always what those did under which it was recorded.
	adaptation string
}

// judged: expressions can judge the output.
func (e *entry) judged() bool { return e.Error == nil && e.Cut == "" && !e.Skipped }

// passedOver: conditions on outputs do not look at it.
func (e *entry) passedOver() bool { return e.Skipped || e.Cut != "" }

// counted: evaluated or failed, so it improves or it does not.
func (e *entry) counted() bool {
	return !e.passedOver() && (e.Evaluation != nil || e.Error != nil)
}

// output is the parsed output, null where there is none.
func (e *entry) output() any {
	if !e.parsed {
		e.parsed = true
		e.value = parsed(e.Output)
	}
	return e.value
}

// outputHash tells equal outputs from different ones.
func (e *entry) outputHash() string {
	if e.hash == "" {
		e.hash = e.OutputHash()
	}
	return e.hash
}

// parsed is JSON as expressions see it, null where there is none.
func parsed(text []byte) any {
	if len(text) == 0 {
		return nil
	}
	value, _ := expr.ParseJSON(text)
	return value
}
