package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// Metric is a number that is made of a score of many runs, or several such numbers: one for each way to reduce and each k.
type Metric struct {
	Name      string   `yaml:"name" minlen:"1" doc:"Default: of what it is made of, such as close pass@4."`
	Score     string   `yaml:"score" minlen:"1" doc:"The scorer (default: the first)."`
	Reduce    Reducers `yaml:"reduce" need:"required" doc:"What the trials of a task become; the metric is the mean over the tasks."`
	K         Numbers  `yaml:"k" doc:"pass_at_k, pass_hat_k, best_of_k: of how many trials."`
	Threshold *float64 `yaml:"threshold" doc:"pass_rate, pass_at_k, pass_hat_k: a run with this score or more is a success (default 1)."`
	By        string   `yaml:"by" minlen:"1" doc:"best_of_k: the scorer that chooses among the trials."`

	Node *source.Node `yaml:",here"`
}

// The ways to reduce the trials of a task.
const (
	ReduceMean     = "mean"
	ReduceMedian   = "median"
	ReduceMin      = "min"
	ReduceMax      = "max"
	ReduceStd      = "std"
	ReducePassRate = "pass_rate"
	ReducePassAtK  = "pass_at_k"
	ReducePassHatK = "pass_hat_k"
	ReduceMajority = "majority"
	ReduceBestOfK  = "best_of_k"
)

const reducerTag reflect.StructTag = `enum:"mean|median|min|max|std|pass_rate|pass_at_k|pass_hat_k|majority|best_of_k"`

// Reducers are one way to reduce, or a list of them.
type Reducers []string

// DecodeNode takes a word or a list.
func (r *Reducers) DecodeNode(n *source.Node, d *source.Decoder) {
	*r = oneOrMore[string](n, d, reducerTag)
}

// JSONSchema describes both forms.
func (r *Reducers) JSONSchema(g *source.Generator) map[string]any {
	return oneOrMoreSchema(g.Tagged("", reducerTag))
}

// Numbers are a whole number from 1, or a list of them.
type Numbers []int

const countTag reflect.StructTag = `min:"1" max:"1000000"`

// DecodeNode takes a number or a list.
func (k *Numbers) DecodeNode(n *source.Node, d *source.Decoder) { *k = oneOrMore[int](n, d, countTag) }

// JSONSchema describes both forms.
func (k *Numbers) JSONSchema(g *source.Generator) map[string]any {
	return oneOrMoreSchema(g.Tagged(0, countTag))
}

func oneOrMore[T any](n *source.Node, d *source.Decoder, tag reflect.StructTag) []T {
	nodes := []*source.Node{n}
	if n.Kind == source.List {
		if nodes = n.Items; len(nodes) == 0 {
			d.Fault(n, "", "the list is empty")
		}
	}
	values := make([]T, len(nodes))
	for i := range nodes {
		d.DecodeTagged(nodes[i], &values[i], tag)
	}
	return values
}

func oneOrMoreSchema(one map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one, "minItems": 1}}}
}

// SingleMetric is one number of those that metrics declare.
type SingleMetric struct {
	Name, Score, Reduce, By string
	K                       int     // 0: nothing is counted
	Threshold               float64 // 0: no success is asked for
}

// SingleMetrics are the metrics of the suite one by one. Where it groups its tasks and declares none, they are the means of
// its scores.
func (s *Suite) SingleMetrics() []SingleMetric {
	if s.GroupBy != nil && s.Metrics == nil {
		return MeansOf(s.scoreNames())
	}
	return SingleMetrics(s.Metrics, s.scoreNames())
}

// SingleMetrics are the metrics of the mapping one by one, where the log has those scores.
func (m *Import) SingleMetrics(scorers []string) []SingleMetric {
	if m.Group != nil && m.Metrics == nil {
		return MeansOf(scorers)
	}
	return SingleMetrics(m.Metrics, scorers)
}

// MeansOf are the metrics that tell of groups where nothing else is asked for.
func MeansOf(scorers []string) (all []SingleMetric) {
	for _, name := range scorers {
		all = append(all, (&Metric{Score: name}).single(ReduceMean, 0))
	}
	return all
}

// SingleMetrics are metrics one by one; those of no scorer are of the first.
func SingleMetrics(declared []Metric, scorers []string) (all []SingleMetric) {
	for i := range declared {
		m := declared[i]
		if m.Score == "" && len(scorers) > 0 {
			m.Score = scorers[0]
		}
		for _, reduce := range m.Reduce {
			if !slices.Contains(takesK, reduce) {
				all = append(all, m.single(reduce, 0))
				continue
			}
			for _, k := range m.K {
				all = append(all, m.single(reduce, k))
			}
		}
	}
	return all
}

var (
	takesK         = []string{ReducePassAtK, ReducePassHatK, ReduceBestOfK}
	takesThreshold = []string{ReducePassRate, ReducePassAtK, ReducePassHatK}
)

func (m *Metric) single(reduce string, k int) SingleMetric {
	one := SingleMetric{Name: m.Name, Score: m.Score, Reduce: reduce, K: k}
	if slices.Contains(takesThreshold, reduce) {
		one.Threshold = 1
		if m.Threshold != nil {
			one.Threshold = *m.Threshold
		}
	}
	if reduce == ReduceBestOfK {
		one.By = m.By
	}
	if one.Name == "" {
		one.Name = one.says()
	}
	return one
}

// says is the name of a metric that has none.
func (m *SingleMetric) says() string {
	words := m.Score + " " + strings.ReplaceAll(m.Reduce, "_", " ")
	switch k := strconv.Itoa(m.K); m.Reduce {
	case ReducePassAtK:
		words = m.Score + " pass@" + k
	case ReducePassHatK:
		words = m.Score + " pass^" + k
	case ReduceBestOfK:
		words = m.Score + " best of " + k + " by " + m.By
	}
	if m.Threshold != 0 && m.Threshold != 1 {
		words += " at " + strconv.FormatFloat(m.Threshold, 'g', -1, 64)
	}
	return words
}
