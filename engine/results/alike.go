package results

import "github.com/agentbench/agentbench/engine/record"

// alike are calls and evaluations that many iterations have in common: those of a
// log without hashes and times often say the same. Each is kept once, and nobody
// may change it.
type alike struct {
	calls       map[record.Call][]record.Call
	evaluations map[judgement]*record.Evaluation
}

// judgement is all that signals have of an evaluation without checks.
type judgement struct {
	confidence float64
	passed     bool
}

// mostAlike are remembered: beyond that, what is not among them is kept for itself.
const mostAlike = 4096

// share lets an iteration without texts have what another one had.
func (a *alike) share(it *record.Iteration) {
	if len(it.Calls) == 1 {
		it.Calls = a.call(it.Calls)
	}
	if e := it.Evaluation; e != nil && len(e.Checks) == 0 {
		it.Evaluation = a.evaluation(e)
	}
}

func (a *alike) call(calls []record.Call) []record.Call {
	c := calls[0]
	if c.Reserved != nil || c.Charged != nil || c.Error != nil {
		return calls
	}
	if known, ok := a.calls[c]; ok {
		return known
	}
	if a.calls == nil {
		a.calls = map[record.Call][]record.Call{}
	}
	if len(a.calls) < mostAlike {
		a.calls[c] = calls[:1:1]
	}
	return calls
}

func (a *alike) evaluation(e *record.Evaluation) *record.Evaluation {
	key := judgement{e.Confidence, e.Passed}
	if known, ok := a.evaluations[key]; ok {
		return known
	}
	if a.evaluations == nil {
		a.evaluations = map[judgement]*record.Evaluation{}
	}
	if len(a.evaluations) < mostAlike {
		a.evaluations[key] = e
	}
	return e
}
