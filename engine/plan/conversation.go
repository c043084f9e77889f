package plan

import "github.com/agentbench/agentbench/spec"

// conversations is what so many iterations use in which the agent converses: its
// steps, the user's turns, and the tasks that it hands out.
func (w *worst) conversations(s spec.Stage, carried, n int64) Worst {
	steps := w.stepsOf(s.Agent)
	total := w.steps(s, steps, carried, n)
	if openEnded(s.Agent) {
		total.Open = product(steps, n)
	}
	if w.loop.User != nil && w.loop.User.Model != "" {
		total = total.Plus(w.turns(s, w.userTurns(steps)).Times(n))
	}
	for i := range s.Agent.Delegates {
		handed := w.delegate(&s.Agent.Delegates[i])
		handed.Handed++
		total = total.Plus(handed.Times(product(steps, n)))
	}
	return total
}

// stepsOf is how many steps an agent makes in one iteration. One that can only talk
// makes one after each turn of the user.
func (w *worst) stepsOf(a *spec.Agent) int64 {
	steps := w.loop.Steps(a)
	if u := w.loop.User; u != nil && u.MaxTurns > 0 && !openEnded(a) {
		steps = min(steps, u.MaxTurns+1)
	}
	return int64(steps)
}

// steps are the agent's own calls. Each sends the replies and turns before it
// along; with a memory those of the iterations before, too.
func (w *worst) steps(s spec.Stage, steps, carried, n int64) Worst {
	in := series{n: steps, first: w.opening(s), more: w.perStep(s)}
	memory := s.Agent.Memory
	if memory == nil {
		return w.calls(s.Agent.Model, s.Agent.MaxOutputTokens, in).Times(n)
	}
	in.n, in.more = product(steps, n), sum(in.more, tokensOf(0, s.Prompt)/max(1, steps)) // a prompt in every iteration
	if in.most = int64(memory.MaxTokens); in.most > 0 {
		in.most = max(in.most, in.first)
	}
	if in.first = sum(in.first, carried); in.most > 0 && (openEnded(s.Agent) || in.first > in.most) {
		in.first = in.most // what tools give may fill it
	}
	return w.calls(s.Agent.Model, s.Agent.MaxOutputTokens, in)
}

// opening is what the first step of an iteration sends: instructions, tools and
// prompt.
func (w *worst) opening(s spec.Stage) int64 {
	characters := w.characters
	for i := range s.Agent.Tools {
		t := &s.Agent.Tools[i]
		characters += len(t.Name) + len(t.Builtin) + len(t.Description) + len(t.Parameters)
	}
	for i := range s.Agent.Delegates {
		characters += len(s.Agent.Delegates[i].Name) + len(s.Agent.Delegates[i].Description)
	}
	return tokensOf(characters, s.Agent.System, s.Prompt)
}

// perStep is by how much a step makes the conversation longer, what tools give
// left out.
func (w *worst) perStep(s spec.Stage) int64 {
	_, reply := declaredTokens(w.models[s.Agent.Model], s.Agent.MaxOutputTokens)
	return int64(reply + w.userReply())
}

func (w *worst) userReply() int {
	if w.loop.User == nil || w.loop.User.Model == "" {
		return 0
	}
	_, reply := declaredTokens(w.models[w.loop.User.Model], 0)
	return reply
}

// remembered is what an iteration of the stage leaves to the memories of those
// after it.
func (w *worst) remembered(s spec.Stage) int64 {
	if s.Agent.Memory == nil {
		return 0
	}
	return sum(tokensOf(0, s.Prompt), product(w.perStep(s), w.stepsOf(s.Agent)))
}

// userTurns are the turns of the user in one iteration: one for each step.
func (w *worst) userTurns(steps int64) int64 {
	if most := int64(w.loop.User.MaxTurns); most > 0 && most < steps {
		return most
	}
	return steps
}

// turns are the calls of the model that plays the user.
func (w *worst) turns(s spec.Stage, n int64) Worst {
	in := series{n: n, first: sum(tokensOf(w.characters, w.loop.User.System), w.perStep(s)), more: w.perStep(s)}
	return w.calls(w.loop.User.Model, 0, in)
}

// delegate is what one task costs that is handed on.
func (w *worst) delegate(d *spec.Delegate) Worst {
	if d.Resolved == nil {
		return Worst{Programs: 1}
	}
	if known, ok := w.delegates[d.Resolved]; ok {
		return known
	}
	if w.delegates == nil {
		w.delegates = map[*spec.Loop]Worst{}
	}
	of := w.run(d.Resolved)
	of.Iterations = 0 // of the run are its own
	w.delegates[d.Resolved] = of
	return of
}

// openEnded says that nothing limits what the agent's tools and delegates give.
func openEnded(a *spec.Agent) bool {
	return len(a.Tools)+len(a.Delegates) > 0
}
