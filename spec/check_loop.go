package spec

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// checkLoop finds what is missing or does not go together in a loop whose keys and values are all allowed.
func (l *loader) checkLoop(loop *Loop) {
	l.checkStages(loop)
	l.checkPattern(loop)
	l.checkEvaluate(loop)
	l.checkConfidence(loop)
	l.checkLimits(loop)
	l.checkAgents(loop)
	l.checkPrograms(loop)
	l.checkWorkspace(loop)
	l.checkArguments(loop.commandNodes())
}

// unique refuses a second item of the same name.
func (l *loader) unique(what string, n int, item func(int) (name string, node *source.Node)) {
	first := map[string]*source.Node{}
	for i := range n {
		name, node := item(i)
		if name == "" || node == nil {
			continue
		}
		at := node
		if named := node.Get("name"); named != nil {
			at = named
		}
		if other, taken := first[name]; taken {
			l.fault(at, "give one of them another name", "duplicate %s %q; first at line %d", what, name, other.Pos.Line)
			continue
		}
		first[name] = at
	}
}

func (l *loader) checkNames(loop *Loop) {
	l.unique("phase", len(loop.Phases), func(i int) (string, *source.Node) { return loop.Phases[i].Name, loop.Phases[i].Node })
	l.unique("strategy", len(loop.Strategies), func(i int) (string, *source.Node) { return loop.Strategies[i].Name, loop.Strategies[i].Node })
	guards := &loop.Guards
	l.unique("guard", len(guards.Repeated), func(i int) (string, *source.Node) { return guards.Repeated[i].Name, guards.Repeated[i].Node })
	l.unique("guard", len(guards.Consecutive), func(i int) (string, *source.Node) { return guards.Consecutive[i].Name, guards.Consecutive[i].Node })
	if e := loop.Evaluate; e != nil {
		l.unique("check", len(e.Checks), func(i int) (string, *source.Node) { return e.Checks[i].Name, e.Checks[i].Node })
	}
	for _, tools := range loop.toolLists() {
		l.unique("tool", len(tools), func(i int) (string, *source.Node) { return tools[i].called(), tools[i].Node })
		l.unique("server", len(tools), func(i int) (string, *source.Node) { return tools[i].server(), tools[i].Node })
	}
	for _, agent := range loop.agents() {
		l.unique("delegate", len(agent.Delegates), func(i int) (string, *source.Node) { return agent.Delegates[i].Name, agent.Delegates[i].Node })
	}
}

// executors are the keys of what executes an iteration.
func (a *Agent) executors() []string {
	var keys []string
	for _, executor := range []struct {
		key   string
		given bool
	}{{"model", a.Model != ""}, {"command", a.Command != nil}, {"http", a.HTTP != ""}, {"a2a", a.A2A != ""}} {
		if executor.given {
			keys = append(keys, executor.key)
		}
	}
	return keys
}

const executorHint = "an agent is one of model, command, http, a2a"

// checkStages wants one executor, and a prompt for a model, in every phase or strategy.
func (l *loader) checkStages(loop *Loop) {
	for _, agent := range loop.agents() {
		if len(agent.executors()) > 1 {
			l.fault(agent.Node, executorHint, "this agent is several things at once")
			return
		}
	}
	for i, stage := range loop.Stages() {
		at := loop.stageNode(i)
		switch {
		case len(stage.Agent.executors()) == 0:
			l.fault(at, executorHint, "%s has no agent", stage.called())
		case stage.Agent.Model != "" && stage.Prompt == nil:
			l.fault(at, `write prompt: "{{ task.input }}"`, "%s has no prompt", stage.called())
		}
	}
}

func (s *Stage) called() string {
	if s.Name == "" {
		return "the loop"
	}
	return "\"" + s.Name + "\""
}

// stageNode is where stage i is declared.
func (l *Loop) stageNode(i int) *source.Node {
	switch {
	case i < len(l.Phases):
		return l.Phases[i].Node
	case i-len(l.Phases) < len(l.Strategies):
		return l.Strategies[i-len(l.Phases)].Node
	}
	return l.Tree.Get("loop")
}

// checkPattern wants what a pattern cannot do without.
func (l *loader) checkPattern(loop *Loop) {
	pattern := loop.Tree.Get("pattern")
	switch {
	case len(loop.Strategies) > 0 && len(loop.Phases) > 0:
		l.fault(loop.Tree.Get("strategies"), "a loop has one of both", "this loop has phases and strategies")
	case len(loop.Strategies) > 0 && loop.Pattern != PatternMultiStrategy:
		l.fault(loop.Tree.Get("strategies"), "write pattern: multi_strategy", "strategies need the pattern multi_strategy")
	case loop.Pattern == PatternMultiStrategy && len(loop.Strategies) == 0:
		l.fault(pattern, "write strategies: [{name: first, prompt: ...}, ...]", "the pattern multi_strategy needs strategies")
	case loop.Pattern != PatternNone && loop.Evaluate == nil:
		l.fault(pattern, "write evaluate: with checks, confidence, a judge or a command", "the pattern %s needs evaluate", loop.Pattern)
	case loop.Pattern == PatternChecklist && len(loop.Evaluate.Checks) == 0:
		l.fault(pattern, "write evaluate: {checks: [{name: ..., expr: ...}]}", "the pattern checklist needs checks")
	}
}

// checkEvaluate wants a phase that exists.
func (l *loader) checkEvaluate(loop *Loop) {
	e := loop.Evaluate
	if e == nil || e.FromPhase == "" {
		return
	}
	var phases []string
	for i := range loop.Phases {
		phases = append(phases, loop.Phases[i].Name)
	}
	if !slices.Contains(phases, e.FromPhase) {
		l.fault(e.Node.Get("from_phase"), didYouMean(e.FromPhase, phases), "unknown phase %q", e.FromPhase)
	}
}

const noConfidence = "write evaluate: with checks, confidence, a judge or a command"

// checkConfidence refuses what needs a confidence in a loop that evaluates nothing.
func (l *loader) checkConfidence(loop *Loop) {
	if loop.Evaluate != nil || loop.Pattern != PatternNone { // of a pattern checkPattern has told
		return
	}
	l.confidenceOf(loop.Terminate.Any)
	if d := loop.Guards.Degradation; d != nil && !d.Window.Off {
		l.fault(loop.Tree.Get("guards").Get("degradation"), noConfidence, "the guard degradation needs evaluate, which gives the confidence")
	}
}

func (l *loader) confidenceOf(conditions []Condition) {
	for i := range conditions {
		c := &conditions[i]
		if !c.Off && (c.Kind == KindConfidence || c.Kind == KindNoImprovement) && c.Node != nil {
			l.fault(c.Node, noConfidence, "the condition %s needs evaluate, which gives the confidence", c.Kind)
		}
		l.confidenceOf(c.Nested)
	}
}

func (l *loader) checkModels(s *Suite) {
	for i := range s.Models {
		m := &s.Models[i].Value
		if m.Node == nil || m.Provider == "" {
			continue
		}
		server, calls := m.Server()
		kinds := []string{m.Provider}
		if calls {
			kinds = append(kinds, aServer)
		}
		if m.Key != nil && m.Provider != "script" { // it may be a secret, which no expression is
			l.add(m.Node.KeyFault("key", "write api_key_env: NAME, the environment variable that holds the key", "%q means nothing for the provider %s", "key", m.Provider))
			m.Key = nil
		} else {
			l.checkOwners(m.Node, *m, "the provider "+m.Provider, "provider: ", kinds...)
		}
		switch {
		case m.Provider == "script":
			l.checkScript(s.Models[i].Key, m)
		case calls && server.BaseURL == "" && m.Provider == "azure":
			if slices.ContainsFunc(m.Node.Entries, func(e source.Entry) bool { return source.Meant[Model](e.Key) == "base_url" }) {
				continue // it is there under another name, and was refused for that
			}
			l.fault(m.Node, "base_url: https://RESOURCE.openai.azure.com/openai/v1", "the provider %s needs base_url", m.Provider)
		case calls:
			l.checkAddress(m.Node.Get("base_url"), "base_url: http://localhost:8080/v1")
			if n := m.Node.Get("api_key_env"); n != nil && !isVariable(n.Text) {
				l.fault(n, "export the key as a variable of the environment and write its name: api_key_env: MY_KEY", "api_key_env is the name of a variable, not the key")
			}
			l.checkCachePrice(m)
			l.checkTier(m)
			l.checkFees(m.Price)
		}
	}
}

// aServer owns the keys of all models that are called over HTTP.
const aServer = "server"

// checkOwners refuses keys of a part, the struct of n, that belong to other kinds than those that it is, as the tags `of` of its
// fields say. What and key say what it is.
func (l *loader) checkOwners(n *source.Node, part any, what, key string, kinds ...string) {
	t := reflect.TypeOf(part)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		value := n.Get(name)
		owners := strings.Fields(t.Field(i).Tag.Get("of"))
		isKind := func(owner string) bool { return slices.Contains(kinds, owner) }
		if len(owners) == 0 || value == nil || value.Kind == source.List && value.Len() == 0 || slices.ContainsFunc(owners, isKind) {
			continue
		}
		hint := "it goes with " + key + strings.Replace(strings.Join(owners, " and "), aServer, "openai and other servers", 1)
		l.add(n.KeyFault(name, hint, "%q means nothing for %s", name, what))
	}
}

// isVariable reports whether a text can be the name of an environment variable: letters, digits and underscores.
func isVariable(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// checkCachePrice wants to know what the cache of Anthropic costs.
func (l *loader) checkCachePrice(m *Model) {
	switch p := m.Price; {
	case len(m.Cache) == 0 || p == nil || p.Free:
	case m.CacheTTL == "1h" && p.CacheWrite1h == nil:
		l.fault(m.Node.Get("price"), "write cache_write_1h, which Anthropic charges at twice the price of input", "the price of a cache write of 1h is missing")
	case m.CacheTTL != "1h" && p.CacheWrite == nil:
		l.fault(m.Node.Get("price"), "write cache_write, which Anthropic charges at 1.25 times the price of input", "the price of a cache write is missing")
	}
}

// checkTier warns of a service tier whose price is missing.
func (l *loader) checkTier(m *Model) {
	tier, p := m.ServiceTier, m.Price
	if p == nil || p.Free || UsualTier(tier) || slices.ContainsFunc(p.Tiers, func(t source.Pair[Price]) bool { return t.Key == tier }) {
		return
	}
	l.warn(m.Node.Get("service_tier"), fmt.Sprintf("write its price: tiers: {%s: {input: ..., output: ...}}", tier),
		"the price has no tier %q: calls that are charged by it are unpriced", tier)
}

// checkFees warns of fees for what no provider is known to count: they may never be charged.
func (l *loader) checkFees(p *Price) {
	if p == nil {
		return
	}
	for _, fee := range p.Fees {
		if fee.Value < 0 || slices.Contains(countedBeside, fee.Key) || slices.Contains(ratedCounts, fee.Key) || strings.HasSuffix(fee.Key, "_tokens") {
			continue
		}
		hint := "the known ones are " + strings.Join(countedBeside, ", ")
		if meant := countMeant(fee.Key); meant != "" {
			hint = fmt.Sprintf("did you mean %s?", meant)
		}
		l.warn(fee.Node, hint, "no provider is known to count %q: the fee is charged only if the usage has that name", fee.Key)
	}
	for i := range p.Tiers {
		l.checkFees(&p.Tiers[i].Value)
	}
}

// mockVariables hold the replies of script models that declare none, as a JSON list.
var mockVariables = []string{"AGENTBENCH_MOCK_RESPONSES", "DEBUG_MOCK_RESPONSES"}

// checkScript wants one source of replies.
func (l *loader) checkScript(name string, m *Model) {
	mocked := slices.ContainsFunc(mockVariables, func(variable string) bool { return l.opt.Env(variable) != "" })
	switch {
	case m.Conversations != nil:
		for _, c := range m.Conversations {
			if _, err := path.Match(c.Key, ""); err != nil {
				l.add(m.Node.Get("conversations").KeyFault(c.Key, "write a name such as main, or a pattern such as \"sub*\"", "invalid pattern"))
			}
		}
	case m.Responses == nil && m.Files == nil && misspelt(m.Node, "responses", "files", "conversations"):
	case m.Responses == nil && m.Files == nil && !mocked && l.opt.Recorded == nil:
		l.fault(m.Node, "write responses: [...], or files, key and answers, or set "+mockVariables[0],
			"the model %q has no replies", name)
	case m.Files != nil && (m.Key == nil || m.Answers == nil):
		l.fault(m.Node, "key gives the id of the task that a row answers, answers the list of replies",
			"the model %q looks its answers up: it needs key and answers", name)
	}
	for _, n := range fileNodes(m.Node.Get("files")) {
		l.checkGlob(n, false)
	}
	if m.Responses != nil && m.Responses.File != "" {
		l.checkGlob(m.Responses.Node, false)
	}
}

func fileNodes(n *source.Node) []*source.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// compileModels compiles the mappings of script models and the replies of simulated ones.
func (l *loader) compileModels(s *Suite) {
	mapping, simulated := compiler{l, expr.Mapping(), nil}, compiler{l, expr.Simulated(), nil}
	for i := range s.Models {
		m := &s.Models[i].Value
		mapping.expr(m.Each, expr.WantList)
		mapping.expr(m.Key, expr.WantString)
		mapping.expr(m.Answers, expr.WantList)
		simulated.prompt(m.Reply)
	}
}

// Recommendation is a range of a phase's iterations that has served tasks of one kind.
type Recommendation struct {
	Phase    string
	Tasks    string // what the tasks are like
	From, To int
}

// Recommendations are the ranges that the source document of the phases gives.
var Recommendations = []Recommendation{
	{"planning", "most tasks", 1, 2},
	{"planning", "complex planning", 2, 3},
	{"execution", "simple data gathering", 2, 3},
	{"execution", "complex data gathering", 4, 5},
	{"execution", "very complex data gathering", 5, 10},
	{"refinement", "simple refinement", 1, 1},
	{"refinement", "complex refinement", 2, 3},
}

// Hints are notes on limits outside every recommended range. They are warnings that nobody need heed.
func (l *Loop) Hints() source.Faults {
	var hints source.Faults
	for i := range l.Phases {
		if phase := &l.Phases[i]; phase.Unusual() != "" {
			hints = append(hints, phase.Node.Fault(phase.Unusual(), "the phase %s may take %d iterations, which is unusual", phase.Name, phase.MaxIterations).AsWarning())
		}
	}
	blind := slices.ContainsFunc(l.Stages(), func(s Stage) bool { return s.Agent.MaxSteps == 1 && s.Agent.callsTools() })
	for _, agent := range l.agents() {
		if blind && agent.MaxSteps == 1 {
			hints = append(hints, agent.Node.Get("max_steps").Fault("recommended: 2-3 for simple queries, 5 for tasks with tools, 10 and more for complex ones",
				"with one step the agent never sees what its tools give").AsWarning())
		}
	}
	if at := slices.IndexFunc(l.agents(), func(a *Agent) bool { return a.Command != nil }); at >= 0 && l.SharesFolder() {
		hints = append(hints, l.agents()[at].Node.Get("command").Fault("where the program edits files, write workspace: {from: task.vars.repo}: each run gets a folder of its own",
			"runs share the folder of the loop; declare workspace").AsWarning())
	}
	return hints
}

// SharesFolder reports whether programs of all runs of the loop work in one folder.
func (l *Loop) SharesFolder() bool { return l.Workspace == nil && l.runsPrograms() }

// Unusual tells the recommended ranges where the phase's limit is outside of all of
// them; "" where it is not.
func (p *Phase) Unusual() string {
	var ranges []string
	for _, r := range Recommendations {
		switch {
		case r.Phase != p.Name:
		case p.MaxIterations == 0 || r.From <= p.MaxIterations && p.MaxIterations <= r.To:
			return ""
		case r.From == r.To:
			ranges = append(ranges, fmt.Sprintf("%d for %s", r.From, r.Tasks))
		default:
			ranges = append(ranges, fmt.Sprintf("%d-%d for %s", r.From, r.To, r.Tasks))
		}
	}
	if ranges == nil {
		return ""
	}
	return "recommended: " + strings.Join(ranges, ", ")
}

// didYouMean is the hint that names the closest of the known words, or all of a few.
func didYouMean(word string, known []string) string {
	if closest := source.Closest(word, known); closest != "" {
		return fmt.Sprintf("did you mean %q?", closest)
	}
	return knownNames(known)
}

const fewNames = 12

// knownNames lists the names that there are.
func knownNames(known []string) string {
	switch {
	case len(known) == 0 || len(known) > fewNames:
		return ""
	case len(known) == 1:
		return "there is only " + known[0]
	}
	return "there are " + strings.Join(known[:len(known)-1], ", ") + " and " + known[len(known)-1]
}

const longName = 60 // runes of a name that a message repeats

func shorten(name string) string {
	if runes := []rune(name); len(runes) > longName {
		return string(runes[:longName]) + "..."
	}
	return name
}
