package replay

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// sendsOther says why the configuration would not have made the recorded
// iteration: it would send something else, or treat the answer in another way.
// "": it would have.
func (w *walk) sendsOther(step stop.Step, recorded *record.Iteration) string {
	pair, ok := w.differ.pair(step.StageIndex(), recorded)
	switch {
	case !ok:
		return fmt.Sprintf("the recorded loop has no stage %q", recorded.Phase+recorded.Strategy)
	case pair.hidden != "":
		return pair.hidden
	case w.shortened:
		return anew
	case !pair.inTime(recorded):
		return "agent.timeout decides on a call that took this long"
	case w.lacksSteps(pair, recorded):
		return "the recording does not have the steps of its conversation"
	}
	w.converses = pair.converses
	if w.converses {
		return w.talksOther(step, recorded, pair)
	}
	if w.Renderer != nil {
		if why, known := w.rendersOther(step, recorded); known {
			return because(why, pair)
		}
	}
	return w.declaresOther(step, recorded, pair)
}

// lacksSteps says that an agent that converses answered, and nobody knows how it
// came to that: an import, or a loop that did not converse, made the record.
func (w *walk) lacksSteps(pair *pair, recorded *record.Iteration) bool {
	return pair.converses && len(recorded.Steps) == 0 && len(recorded.Output) > 0
}

// talksOther is sendsOther of an agent that converses: nothing of the iteration
// would be as recorded.
func (w *walk) talksOther(step stop.Step, recorded *record.Iteration, pair *pair) string {
	if w.Renderer == nil || len(sentIn(recorded)) == 0 {
		if why := w.declaresOther(step, recorded, pair); why != "" {
			return why
		}
	}
	w.follows = w.follow(step, recorded, pair)
	if w.follows.steps == 0 && (len(sentIn(recorded)) > 0 || neverAsked(recorded)) {
		return w.follows.why
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
func (w *walk) rendersOther(step stop.Step, recorded *record.Iteration) (why string, known bool) {
	hash, err := w.Renderer.Request(w.ctx, w.task, w.run.Trial, step, w.state)
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
	return "", true
}

// declaresOther compares what is declared, and what prompts read.
func (w *walk) declaresOther(step stop.Step, recorded *record.Iteration, pair *pair) string {
	switch {
	case step.Phase != recorded.Phase:
		return fmt.Sprintf("it would be in phase %q, not %q", step.Phase, recorded.Phase)
	case step.Strategy != recorded.Strategy:
		return fmt.Sprintf("it would try strategy %q, not %q", step.Strategy, recorded.Strategy)
	case pair.shown != "":
		return pair.shown
	case w.rejudged && pair.toldOfJudging:
		return "the agent is told of evaluations, and they differ"
	}
	return ""
}

// inTime says that both limits on a call's time leave the recorded calls alone.
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

// exceeds is cautious at the very moment.
func exceeds(took, limit time.Duration) bool { return limit > 0 && took >= limit }
