package plan

import (
	"bytes"
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Shard is one of the equal parts that the tasks of a plan are divided into.
type Shard struct{ Number, Of int } // from 1

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// ParseShard reads "2/3".
func ParseShard(text string) (Shard, error) {
	number, of, parted := strings.Cut(text, "/")
	if !parted {
		return Shard{}, errors.New("want i/n, for example 1/3")
	}
	return ShardOf(number, of)
}

// ShardOf reads a number from 1 and a count.
func ShardOf(number, of string) (Shard, error) {
	n, err := strconv.Atoi(of)
	if err != nil || n < 1 || n > record.MostShards {
		return Shard{}, fmt.Errorf("want 1 to %d shards, not %q", record.MostShards, of)
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("invalid shard %q: the shards of %d are numbered from 1 to %d", number, n, n)
	}
	return Shard{i, n}, nil
}

// How tasks are assigned to shards.
const (
	ByHash    = "hash"
	ByWeights = "weights"
)

// Deal is how the tasks of a plan are assigned to shards: whole tasks,
// with all their configurations and trials. It is the same wherever it is made
// of the same tasks and weights, whatever their order.
type Deal struct {
	Of int
	By string
	// Hash identifies the ids of the tasks and the weights used.
	Hash  string
	Tasks []int // how many tasks each shard has, in the order of their numbers
	// Known is how many of the tasks have a weight of their own.
	Known int

	loads []int64
	cuts  []taskKey         // by hash: the first task of each shard but the first
	place map[taskKey]int32 // by weights: from 0
}

// Part is a shard of a deal.
type Part struct {
	*Deal
	Number int // from 1
}

// has reports whether a task belongs to the part.
func (p *Part) has(task string) bool {
	key := keyOf(task)
	if p.By == ByWeights {
		return int(p.place[key]) == p.Number-1
	}
	at, found := slices.BinarySearchFunc(p.cuts, key, taskKey.compare)
	if found {
		at++
	}
	return at == p.Number-1
}

// ErrNoWeight means that weights are known of none of the tasks.
var ErrNoWeight = errors.New("it has none of the tasks")

// FewTasksError means that there are fewer tasks than shards.
type FewTasksError struct{ Tasks, Shards int }

func (e *FewTasksError) Error() string {
	return fmt.Sprintf("%d tasks are too few for %d shards: each shard needs one", e.Tasks, e.Shards)
}

// Shard narrows a plan to one of its shards. Weights are the known durations of
// tasks: the longest task goes first, each to the shard with the least so far,
// and a task that is not known counts as the median of those that are. Without
// weights the tasks are put in the order of a hash of their ids and cut into
// equal parts, so that a new task moves few others.
func (p *Plan) Shard(s Shard, tasks iter.Seq2[*spec.Task, error], weights map[string]time.Duration) error {
	all, known, err := p.weighed(tasks, weights)
	switch {
	case err != nil:
		return err
	case len(all) < s.Of:
		return &FewTasksError{len(all), s.Of}
	case weights != nil && known == 0:
		return ErrNoWeight
	}
	h := sha256.New()
	for i := range all {
		h.Write(all[i].key[:])
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(all[i].weight)))
	}
	d := &Deal{Of: s.Of, By: ByHash, Known: known, Hash: hex.EncodeToString(h.Sum(nil)[:16]), Tasks: make([]int, s.Of), loads: make([]int64, s.Of)}
	if weights != nil {
		d.spread(all)
	} else {
		for i := range d.Of { // each shard gets the next of the tasks in the order of their keys
			from, to := len(all)*i/d.Of, len(all)*(i+1)/d.Of
			if i > 0 {
				d.cuts = append(d.cuts, all[from].key)
			}
			d.Tasks[i], d.loads[i] = to-from, int64(to-from)
		}
	}
	p.Part, p.Tasks = &Part{d, s.Number}, d.Tasks[s.Number-1]
	return nil
}

// spread gives each task, the longest first, to the shard that has the least.
func (d *Deal) spread(all []weighed) {
	d.By, d.place = ByWeights, make(map[taskKey]int32, len(all))
	slices.SortStableFunc(all, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	least := &leastLoaded{d, make([]int32, d.Of)}
	for s := range least.shards {
		least.shards[s] = int32(s)
	}
	for i := range all {
		s := least.shards[0]
		d.place[all[i].key] = s
		d.loads[s] += all[i].weight
		d.Tasks[s]++
		heap.Fix(least, 0)
	}
}

// Whole is how many tasks all shards have.
func (d *Deal) Whole() (tasks int) {
	for _, n := range d.Tasks {
		tasks += n
	}
	return tasks
}

// taskKey is a hash of the id of a task.
type taskKey [16]byte

func keyOf(task string) taskKey {
	sum := sha256.Sum256([]byte(task))
	return taskKey(sum[:16])
}

func (k taskKey) compare(other taskKey) int { return bytes.Compare(k[:], other[:]) }

// weighed is a task that is assigned to a shard.
type weighed struct {
	key    taskKey
	weight int64 // in microseconds where weights are known
}

// weighed are the tasks of the plan in the order of their keys. Without weights
// each weighs 1; those without a weight get the median of the others.
func (p *Plan) weighed(tasks iter.Seq2[*spec.Task, error], weights map[string]time.Duration) (all []weighed, known int, err error) {
	const unknown = 0
	var sorted []int64 // the known weights
	for task, err := range p.selected(tasks) {
		if err != nil {
			return nil, 0, err
		}
		w := weighed{key: keyOf(task.ID), weight: 1}
		if weights != nil {
			w.weight = unknown
			if weight, ok := weights[task.ID]; ok {
				w.weight = max(1, weight.Microseconds())
				sorted = append(sorted, w.weight)
			}
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b weighed) int { return a.key.compare(b.key) })
	if known = len(sorted); known > 0 {
		slices.Sort(sorted)
		low, high := sorted[(known-1)/2], sorted[known/2]
		for i := range all {
			if all[i].weight == unknown {
				all[i].weight = low + (high-low)/2
			}
		}
	}
	return all, known, nil
}

// leastLoaded is a heap of the shards, the one with the least to do on top.
type leastLoaded struct {
	*Deal
	shards []int32
}

func (h *leastLoaded) Len() int      { return len(h.shards) }
func (h *leastLoaded) Swap(i, j int) { h.shards[i], h.shards[j] = h.shards[j], h.shards[i] }
func (h *leastLoaded) Push(any)      {} // no shard comes or goes
func (h *leastLoaded) Pop() any      { return nil }
func (h *leastLoaded) Less(i, j int) bool {
	a, b := h.shards[i], h.shards[j]
	return cmp.Or(cmp.Compare(h.loads[a], h.loads[b]), cmp.Compare(h.Tasks[a], h.Tasks[b]), cmp.Compare(a, b)) < 0
}

// TooSmallError means that a limit leaves nothing for some shard.
type TooSmallError struct {
	What   string
	Shards int
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s cannot be divided among %d shards", e.What, e.Shards)
}

// Budget is the part's share of what the suite may spend, by how much there is
// to do. The shares of all parts are together the whole. Duration is not divided.
func (p *Part) Budget(whole spec.SuiteBudget) (share spec.SuiteBudget, err error) {
	share = whole
	if share.Calls, err = p.share(whole.Calls, p.loads, fmt.Sprintf("the budget of %d calls", whole.Calls)); err != nil {
		return share, err
	}
	if share.Tokens, err = p.share(whole.Tokens, p.loads, fmt.Sprintf("the budget of %d tokens", whole.Tokens)); err != nil {
		return share, err
	}
	cost, err := p.share(picoDollars(whole.CostUSD), p.loads, fmt.Sprintf("the budget of %g USD", whole.CostUSD))
	share.CostUSD = dollarsAtMost(cost)
	return share, err
}

// Rates are a model's limits as one of the shards keeps them, which all call it
// at the same time. They are divided evenly.
func (p *Part) Rates(name string, m spec.Model) (share spec.Model, err error) {
	share = m
	even := slices.Repeat([]int64{1}, p.Of)
	of := func(limit string, whole int64) int64 {
		part, failed := p.share(whole, even, fmt.Sprintf("%s: %d of model %s", limit, whole, name))
		err = cmp.Or(err, failed)
		return part
	}
	share.RPM, share.TPM = of("rpm", m.RPM), of("tpm", m.TPM)
	share.MaxParallel = int(of("max_parallel", int64(m.MaxParallel)))
	return share, err
}

// share is the part's share of a limit, of which 0 means none.
func (p *Part) share(whole int64, loads []int64, what string) (int64, error) {
	if whole == 0 {
		return 0, nil
	}
	shares := divide(whole, loads)
	if slices.Min(shares) == 0 { // in whatever shard: all of them refuse
		return 0, &TooSmallError{what, p.Of}
	}
	return shares[p.Number-1], nil
}

// divide parts a whole in the proportion of loads, none of which is below zero
// and not all zero. What rounding leaves over goes to the largest remainders,
// among equals to the first.
func divide(whole int64, loads []int64) []int64 {
	var all uint64
	for _, load := range loads {
		all += uint64(load)
	}
	shares, remainders, left := make([]int64, len(loads)), make([]uint64, len(loads)), whole
	order := make([]int, len(loads))
	for i, load := range loads {
		high, low := bits.Mul64(uint64(whole), uint64(load))
		share, remainder := bits.Div64(high, low, all)
		shares[i], remainders[i], order[i] = int64(share), remainder, i
		left -= int64(share)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// picoDollars is an amount as the suite's budget keeps it.
func picoDollars(usd float64) int64 {
	if usd <= 0 {
		return 0
	}
	return max(1, int64(min(math.Round(usd*float64(record.USD)), math.MaxInt64/2)))
}

// dollarsAtMost is an amount in USD that is, as the budget reads it, no more.
func dollarsAtMost(pico int64) float64 {
	usd := record.Money(pico).Dollars()
	for picoDollars(usd) > pico {
		usd = math.Nextafter(usd, 0)
	}
	return usd
}

// Shared is what the configurations of a plan have in common at worst: the
// iterations of one task and trial whose calls differ from all others, where runs
// that begin alike share calls through the cache.
//
// Runs begin alike where the same stage sends the same after the same, as far as
// that is declared. Whatever the outcomes, there are no more different calls than
// where every stage continues to its limit: a stage that ends by itself lets more
// runs go on together. What cannot be told is not shared: answers of models that
// are not cached, of programs, and whatever reads parameters that only decide
// when to stop.
type Shared struct{ parts []sharedPart }

// sharedPart are so many iterations of a stage, those of one loop among equals,
// after iterations that were numbered before.
type sharedPart struct {
	loop       *spec.Loop
	stage      spec.Stage
	before     []stretch
	iterations int64
}

// stretch are so many iterations of a stage.
type stretch struct {
	stage spec.Stage
	n     int64
}

// SharedBy are the different iterations of configurations.
func SharedBy(configurations []spec.Resolved, models map[string]*spec.Model) *Shared {
	all := &Shared{}
	var paths []path
	for i := range configurations {
		paths = append(paths, pathOf(configurations[i].Loop, models))
	}
	for _, alike := range grouped(paths, func(p *path) string { return p.common }) {
		shared, apart := &Shared{}, &Shared{}
		shared.add(alike, 0)
		for i := range alike { // as WorstOfRun counts stages, sharing nothing
			p := &alike[i]
			left := int64(MaxIterations(p.loop))
			var before []stretch
			for k, stage := range p.stages {
				n := min(left, p.limit(k))
				left -= n
				apart.parts = append(apart.parts, sharedPart{p.loop, stage, before[:len(before):len(before)], n})
				before = append(before, stretch{stage, n})
			}
		}
		if shared.iterations() > apart.iterations() { // a limit of the run cuts stages short
			shared = apart
		}
		all.parts = append(all.parts, shared.parts...)
	}
	return all
}

func (s *Shared) iterations() (n int64) {
	for i := range s.parts {
		n = sum(n, s.parts[i].iterations)
	}
	return n
}

// WorstOfTask is the worst case of all configurations together on one trial of a
// task whose input has so many characters.
func (s *Shared) WorstOfTask(models map[string]*spec.Model, characters int) (total Worst) {
	for i := range s.parts {
		p := &s.parts[i]
		w := worst{loop: p.loop, models: models, characters: characters}
		carried := int64(0)
		for _, b := range p.before {
			carried = sum(carried, product(w.remembered(b.stage), b.n))
		}
		total = total.Plus(w.stage(p.stage, carried, p.iterations))
	}
	return total
}

// add counts the stages from one on of paths that are alike before it.
func (s *Shared) add(alike []path, stage int) {
	alike = slices.DeleteFunc(slices.Clone(alike), func(p path) bool { return stage >= len(p.stages) })
	for _, same := range grouped(alike, func(p *path) string { return p.sent[stage] }) {
		longest := int64(0)
		for i := range same {
			longest = max(longest, same[i].limit(stage))
		}
		s.parts = append(s.parts, sharedPart{loop: same[0].loop, stage: same[0].stages[stage], iterations: longest})
		for _, left := range grouped(same, func(p *path) string { return p.left[stage] }) {
			s.add(left, stage+1)
		}
	}
}

// grouped parts paths by a key, in the order in which the keys come.
func grouped(paths []path, key func(*path) string) (groups [][]path) {
	at := map[string]int{}
	for i := range paths {
		k := key(&paths[i])
		if _, known := at[k]; !known {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], paths[i])
	}
	return groups
}

// path is what of a loop decides what is sent, as texts that are equal only where
// it is.
type path struct {
	loop   *spec.Loop
	stages []spec.Stage
	common string   // for all stages
	sent   []string // in each stage
	left   []string // when each stage is left
}

// limit is the most iterations of a stage.
func (p *path) limit(stage int) int64 {
	most := MaxIterations(p.loop)
	if limit := p.stages[stage].Limit; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return int64(most)
}

func pathOf(l *spec.Loop, models map[string]*spec.Model) path {
	p := path{loop: l, stages: l.Stages()}
	own := ""
	if !shares(l, models) || readsLimits(l) {
		own = textOf(l.Values(), func(string) bool { return true })
	}
	p.common = own + textOf(l.Values(), inCommon)
	for i := range p.stages {
		stage := &p.stages[i]
		p.sent = append(p.sent, stage.Name+"\n"+textOf(l.Values(), func(path string) bool { return sentIn(path, stage.Name) }))
		p.left = append(p.left, leftAt(l, stage))
	}
	return p
}

// textOf is what the values are at the paths that count.
func textOf(values []spec.Value, counts func(path string) bool) string {
	var text strings.Builder
	for _, v := range values {
		if v.Value != nil && counts(v.Path) {
			fmt.Fprintf(&text, "%q=%T:%q\n", v.Path, v.Value, fmt.Sprint(v.Value))
		}
	}
	return text.String()
}

// inCommon reports whether a value matters to what all stages send. Conditions and
// guards only decide when a run stops.
func inCommon(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return !slices.Contains([]string{"loop", "terminate", "guards", "max_iterations", "phases", "strategies"}, section)
}

func sentIn(path, stage string) bool {
	for _, section := range []string{"phases.", "strategies."} {
		if key, ok := strings.CutPrefix(path, section+stage+"."); ok {
			return key != "max_iterations" && key != "until"
		}
	}
	return false
}

// leftAt says when a stage is left.
func leftAt(l *spec.Loop, s *spec.Stage) string {
	if s.Until == nil {
		return fmt.Sprint(s.Limit)
	}
	text := fmt.Sprintln(s.Limit, s.Until.Text)
	if s.Until.Program == nil || readsAny(s.Until.Reads(), limits...) {
		text += textOf(l.Values(), func(string) bool { return true })
	}
	return text
}

// shares reports whether runs of the loop can share calls: its models are cached,
// and nothing else has a part in what they are sent. Conversations are not shared:
// what tools give, and what a user says, may differ.
func shares(l *spec.Loop, models map[string]*spec.Model) bool {
	cached := func(name string) bool {
		m := models[name]
		return m != nil && m.Provider != "script" && m.Provider != "simulate"
	}
	for _, s := range l.Stages() {
		if !cached(s.Agent.Model) || l.Converses(s.Agent) {
			return false
		}
	}
	e := l.Evaluate
	return e == nil || e.Command == nil && e.Test == nil && (e.Judge == nil || cached(e.Judge.Model))
}

// readsLimits reports whether what decides when to stop may show in what is sent.
func readsLimits(l *spec.Loop) bool {
	var prompts []*spec.Prompt
	var expressions []*spec.Expr
	for _, s := range l.Stages() {
		if s.Agent.WarnRemaining > 0 || s.Agent.FinalResponse != nil && readsAny(s.Agent.FinalResponse.Reads(), limits...) {
			return true
		}
		prompts = append(prompts, s.Prompt, s.Agent.System)
	}
	if e := l.Evaluate; e != nil {
		expressions = append(expressions, e.Confidence, e.Passed, e.Feedback)
		for i := range e.Checks {
			expressions = append(expressions, e.Checks[i].Expr)
		}
		if e.Judge != nil {
			prompts = append(prompts, e.Judge.Rubric)
		}
	}
	return slices.ContainsFunc(prompts, func(p *spec.Prompt) bool { return p != nil && p.Template != nil && readsAny(p.Reads(), limits...) }) ||
		slices.ContainsFunc(expressions, func(x *spec.Expr) bool { return x != nil && x.Program != nil && readsAny(x.Reads(), limits...) })
}

// limits are the variables that are parameters, or count by one.
var limits = []string{"param", "since_improvement"}

// readsAny reports whether one of the paths is of one of the variables.
func readsAny(paths []string, variables ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		return slices.Contains(variables, variable)
	})
}
