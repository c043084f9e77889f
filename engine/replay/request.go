package replay

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// sendsOther is the reason why the configuration would not have made the recorded
// iteration: it would send something else, or treat the answer in another way.
// "": it would have.
func (w *walk) sendsOther(p *pass) string {
	recorded, ok := p.recorded, false
	p.pair, ok = w.differ.pair(p.step.StageIndex(), recorded)
	switch {
	case !ok:
		return fmt.Sprintf("the recorded loop has no stage %q", recorded.Phase+recorded.Strategy)
	case p.pair.hidden != "":
		return p.pair.hidden
	case w.shortened:
		return anew
	case !p.pair.kills(recorded) && !p.pair.inTime(recorded):
		return "agent.timeout decides on a call that took this long"
	case p.pair.converses && len(recorded.Steps) == 0 && len(recorded.Output) > 0: // an import, or a loop that did not converse, made the record
		return "the recording does not have the steps of its conversation"
	case p.pair.converses:
		return w.talksOther(p)
	case w.refusal.Limit != "" && p.step.Iteration <= len(w.run.Iterations): // the wide path came as far
		return ""
	case w.options.Renderer != nil:
		if why, known := w.rendersOther(p); known {
			return because(why, p.pair)
		}
	}
	return w.declaresOther(p)
}

// talksOther is sendsOther of an agent that converses: nothing of the iteration
// would be as recorded.
func (w *walk) talksOther(p *pass) string {
	sent := len(sentIn(p.recorded)) > 0
	if w.options.Renderer == nil || !sent {
		if why := w.declaresOther(p); why != "" {
			return why
		}
	}
	p.follows = w.follow(p)
	if p.follows.steps == 0 && (sent || neverAsked(p.recorded)) {
		return p.follows.why
	}
	return ""
}

const otherRequest = "it would send another request"

// because says of a request that differs what is declared otherwise.
func because(why string, p *pair) string {
	if why == otherRequest && p.shown != "" {
		return p.shown
	}
	return why
}

// rendersOther renders the request again. Known is false where that tells
// nothing, for instance because a log has no requests.
func (w *walk) rendersOther(p *pass) (why string, known bool) {
	recorded := p.recorded
	if p.step.Iteration <= w.equal {
		return "", true
	}
	hash, err := w.options.Renderer.Request(w.ctx, w.task, w.run.Trial, p.step, w.State)
	var failure *record.Error
	switch {
	case errors.As(err, &failure) && recorded.Request == "" && recorded.Error != nil && *recorded.Error == *failure:
		return "", true
	case err != nil && recorded.Request != "":
		return "its prompt cannot be rendered: " + err.Error(), true
	case err != nil || hash == "" || recorded.Request == "":
		return "", false
	case hash != recorded.Request:
		return otherRequest, true
	}
	if p.step.Iteration == w.equal+1 {
		w.equal++
	}
	return "", true
}

// declaresOther compares what is declared, and what prompts read.
func (w *walk) declaresOther(p *pass) string {
	switch {
	case p.step.Phase != p.recorded.Phase:
		return fmt.Sprintf("it would be in phase %q, not %q", p.step.Phase, p.recorded.Phase)
	case p.step.Strategy != p.recorded.Strategy:
		return fmt.Sprintf("it would try strategy %q, not %q", p.step.Strategy, p.recorded.Strategy)
	case p.pair.shown != "":
		return p.pair.shown
	case w.rejudged && p.pair.toldOfJudging:
		return "the agent gets evaluations, and they differ"
	}
	return ""
}

// inTime reports whether both limits on a call's time leave the recorded calls alone.
func (p *pair) inTime(recorded *record.Iteration) bool {
	if p.timeout == p.recordedTimeout {
		return true
	}
	for i := range recorded.Calls {
		c := &recorded.Calls[i]
		switch c.Role {
		case record.RoleJudge, record.RoleUser, record.RoleDelegate:
			continue
		}
		late := c.Error != nil && c.Error.Class == record.CallTimeout
		if late || exceeds(c.Duration, p.timeout) || exceeds(c.Duration, p.recordedTimeout) {
			return false
		}
	}
	return true
}

// kills reports whether a program of the recording was not killed before the configuration would
// kill it, so that it is known what it did until then.
func (p *pair) kills(recorded *record.Iteration) bool {
	if len(recorded.Calls) == 0 || recorded.Calls[0].Role != record.RoleProgram {
		return false
	}
	c := &recorded.Calls[0]
	limit, was := cmp.Or(p.timeout, spec.DefaultProgramTimeout), cmp.Or(p.recordedTimeout, spec.DefaultProgramTimeout)
	return limit <= was || c.Duration < was
}

// exceeds is cautious at the very moment.
func exceeds(took, limit time.Duration) bool { return limit > 0 && took >= limit }
