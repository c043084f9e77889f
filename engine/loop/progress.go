package loop

import (
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// progress is an iteration while its agent converses.
type progress struct {
	*run
	it    *record.Iteration
	watch *stop.Watch // nil: no rule looks at steps
	told  int         // events
}

// step is told of every whole step. One after which a timeout cuts the iteration
// is told of with the rest of it.
func (p *progress) step(sofar *agent.Result) record.Reason {
	p.take(sofar)
	if p.late(sofar.Took, sofar.Waited) {
		return record.ReasonTimeout
	}
	if p.observe != nil {
		events := record.StepEvents(&record.Run{ID: p.record.ID, Iterations: []record.Iteration{*p.it}}, 0, len(p.it.Steps)-1)
		p.told += len(events)
		p.emit(events)
	}
	if p.watch == nil {
		return ""
	}
	return p.watch.Step(p.it)
}

// take puts down what was not put down yet, in the time of the run.
func (p *progress) take(sofar *agent.Result) {
	p.it.Prompt, p.it.Steps = sofar.Prompt, sofar.Steps
	for i := len(p.it.Calls); i < len(sofar.Calls); i++ {
		c := sofar.Calls[i]
		c.Start += p.it.Start
		p.noteVolatile(&c)
		p.it.Calls = append(p.it.Calls, c)
	}
	for i := len(p.it.ToolCalls); i < len(sofar.ToolCalls); i++ {
		c := sofar.ToolCalls[i]
		c.Start += p.it.Start
		p.it.ToolCalls = append(p.it.ToolCalls, c)
	}
}

// late says that nothing more begins in an iteration that took so long: a timeout
// cuts it.
func (p *progress) late(took, waited time.Duration) bool {
	at, working, ok := p.Rules.CancelAt()
	if working {
		at += p.waited + waited
	}
	return ok && p.it.Start+took >= at
}

// end puts down all that an agent gave. One that does not converse makes its
// calls one after the other.
func (p *progress) end(result *agent.Result) {
	if result.Took == 0 && len(result.Steps) == 0 {
		p.it.Prompt, p.it.ToolCalls = result.Prompt, result.ToolCalls
		p.add(p.it, result.Calls)
		return
	}
	p.take(result)
	p.elapsed += result.Took
	p.run.waited += result.Waited
	p.it.Working += result.Took - result.Waited
}
