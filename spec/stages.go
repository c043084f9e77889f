package spec

// Stage is what executes an iteration: a phase, a strategy, or the loop itself,
// with all that it inherits from the loop.
type Stage struct {
	Name   string // "" for the loop itself
	Agent  *Agent
	Prompt *Prompt // nil: none
	Limit  int     // iterations; 0: none of its own
	Until  *Expr
}

// Stages are the phases, the strategies, or the loop itself as the only one.
func (l *Loop) Stages() []Stage {
	var stages []Stage
	for i := range l.Phases {
		p := &l.Phases[i]
		agent := l.Agent.with(p.Agent)
		if p.Reply != "" {
			agent.Reply = p.Reply
		}
		if p.Tools != nil {
			agent.Tools = *p.Tools
		}
		stages = append(stages, Stage{Name: p.Name, Agent: agent, Prompt: firstPrompt(p.Prompt, l.Prompt), Limit: p.MaxIterations, Until: p.Until})
	}
	for i := range l.Strategies {
		s := &l.Strategies[i]
		stages = append(stages, Stage{Name: s.Name, Agent: l.Agent.with(s.Agent), Prompt: firstPrompt(s.Prompt, l.Prompt), Limit: max(1, s.MaxIterations)})
	}
	if len(stages) == 0 {
		stages = append(stages, Stage{Agent: l.Agent.with(nil), Prompt: l.Prompt})
	}
	return stages
}

// RepliesText says that every stage's output is a text.
func (l *Loop) RepliesText() bool {
	for _, s := range l.Stages() {
		if s.Agent.Model == "" || s.Agent.Reply == ReplyJSON {
			return false
		}
	}
	return true
}

// Steps an agent may make in one iteration unless it says otherwise.
const (
	defaultSteps         = 5
	defaultStepsWithUser = 100
)

// Converses says that an agent of the loop makes steps: it is a model that has tools, delegates, memory or a user, or
// is told what remains. Any other one answers once.
func (l *Loop) Converses(a *Agent) bool {
	return a.Model != "" && (a.callsTools() || a.Memory != nil || a.WarnRemaining > 0 || l.User != nil)
}

// Steps is how many steps an agent of the loop may make in one iteration.
func (l *Loop) Steps(a *Agent) int {
	switch {
	case !l.Converses(a) || a.StepsOnce(l.User != nil):
		return 1
	case a.MaxSteps > 0:
		return a.MaxSteps
	case l.User != nil:
		return defaultStepsWithUser
	}
	return defaultSteps
}

// StepLimit is a limit of the steps within one iteration, at the path of its parameter. Stage is the phase or strategy whose
// iterations it limits, "" for all of the loop.
type StepLimit struct {
	Path, Stage string
	Limit       int
}

// StepLimits are those of the stages whose agents make several steps in an iteration; one where they are all the same.
func (l *Loop) StepLimits() (limits []StepLimit) {
	same := true
	for _, s := range l.Stages() {
		if !l.Converses(s.Agent) || s.Agent.StepsOnce(l.User != nil) {
			continue
		}
		limit := StepLimit{Path: "agent.max_steps", Stage: s.Name, Limit: l.Steps(s.Agent)}
		switch {
		case len(l.Phases) > 0:
			limit.Path = "phases." + s.Name + ".agent.max_steps"
		case len(l.Strategies) > 0:
			limit.Path = "strategies." + s.Name + ".agent.max_steps"
		}
		limits = append(limits, limit)
		same = same && limit.Limit == limits[0].Limit
	}
	if len(limits) > 1 && same {
		return []StepLimit{{Path: "agent.max_steps", Limit: limits[0].Limit}}
	}
	return limits
}

// StepsOnce says that each iteration of the agent is one step: it has nothing to call, and no user answers it. Blocks in
// its text are calls nonetheless, and are answered.
func (a *Agent) StepsOnce(answered bool) bool {
	blocks := a.ToolCalls != "" && a.ToolCalls != "native"
	return len(a.Tools)+len(a.Delegates) == 0 && !blocks && !answered
}

func (a *Agent) callsTools() bool {
	return a.Model != "" && len(a.Tools)+len(a.Delegates) > 0
}

// Completing are the names of the agent's tools by which it ends the run as a success of the loop.
func (a *Agent) Completing() (names []string) {
	if a.Model == "" {
		return nil
	}
	for i := range a.Tools {
		if t := &a.Tools[i]; t.completes() {
			names = append(names, t.called())
		}
	}
	return names
}

func firstPrompt(prompts ...*Prompt) *Prompt {
	for _, p := range prompts {
		if p != nil {
			return p
		}
	}
	return nil
}

// with is a copy of the agent with the overrides of a stage. An override that
// says what executes takes the place of what the loop says there.
func (a *Agent) with(over *Agent) *Agent {
	merged := Agent{}
	if a != nil {
		merged = *a
	}
	if over == nil {
		return &merged
	}
	if over.Model != "" || over.Command != nil || over.HTTP != "" || over.A2A != "" {
		merged.Model, merged.Command, merged.HTTP, merged.A2A, merged.Headers = over.Model, over.Command, over.HTTP, over.A2A, over.Headers
	}
	override(&merged.System, over.System)
	override(&merged.Reply, over.Reply)
	override(&merged.Temperature, over.Temperature)
	override(&merged.TopP, over.TopP)
	override(&merged.MaxOutputTokens, over.MaxOutputTokens)
	override(&merged.Seed, over.Seed)
	override(&merged.Timeout, over.Timeout)
	override(&merged.MaxSteps, over.MaxSteps)
	override(&merged.ToolCalls, over.ToolCalls)
	override(&merged.ToolChoice, over.ToolChoice)
	override(&merged.Memory, over.Memory)
	override(&merged.WarnRemaining, over.WarnRemaining)
	override(&merged.FinalResponse, over.FinalResponse)
	if over.Headers != nil {
		merged.Headers = over.Headers
	}
	if over.Tools != nil {
		merged.Tools = over.Tools
	}
	if over.Delegates != nil {
		merged.Delegates = over.Delegates
	}
	return &merged
}

// override replaces a value by one that is given.
func override[T comparable](value *T, given T) {
	var none T
	if given != none {
		*value = given
	}
}
