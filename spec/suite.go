// Package spec loads suites, loops and mappings. Load reads a YAML file with all files that it names, applies the
// presets, spreads configurations and sweeps, compiles every expression in the environment of its place, and reports
// all faults of all files at once, each where it stands. Loop.With sets parameters of a loop that is loaded.
//
// The stages, in order: read, decode (the types, one file for each concept), set (parameters on the tree),
// preset, compile, check, resolve. Tasks are streamed from their files when they are asked for.
package spec

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Suite is tasks x configurations with scorers, a budget and thresholds.
type Suite struct {
	Name           string              `yaml:"suite" need:"required" minlen:"1" doc:"The suite's name."`
	Roots          source.Named[Root]  `yaml:"roots" doc:"Other folders that files may be read from, as name:/path."`
	Tasks          Tasks               `yaml:"tasks" need:"required" doc:"A list, a file, or a mapping over files." also:"tests dataset data cases"`
	Models         source.Named[Model] `yaml:"models"`
	Prices         string              `yaml:"prices" minlen:"1" doc:"A file with a date and prices, for models that say none: {as_of: 2026-11-01, prices: {gpt-4o: {input: 2.50, output: 10.00}}}."`
	Configurations []Configuration     `yaml:"configurations" need:"required" minlen:"1" also:"configs loops variants experiments"`
	Cluster        *Expr               `yaml:"cluster" doc:"CEL over task: tasks of one cluster depend on each other, and intervals know it (default: each task for itself)."`
	Baseline       string              `yaml:"baseline" doc:"The configuration that the others are compared with."`
	Scorers        []Scorer            `yaml:"scorers" also:"assert asserts evaluators graders"`
	Metrics        []Metric            `yaml:"metrics" minlen:"1" doc:"Numbers over many runs, such as pass@k of a score."`
	GroupBy        *Expr               `yaml:"group_by" doc:"CEL over task: metrics are also reported for each group of tasks."`
	Trials         int                 `yaml:"trials" min:"1" max:"1000000" doc:"Repetitions of every task (default 1)." also:"repeat repetitions epochs runs n"`
	Seed           int64               `yaml:"seed"`
	Concurrency    int                 `yaml:"concurrency" min:"1" doc:"Runs at the same time (default 8)." also:"workers parallel max_concurrency jobs"`
	Budget         SuiteBudget         `yaml:"budget" also:"max_cost max_cost_usd cost_usd"`
	Thresholds     []Expr              `yaml:"thresholds" doc:"CEL over the report; a false one makes run exit 1."`
	Margin         *Margins            `yaml:"margin" doc:"The smallest change that matters: of scores (default 0.02), or {scores: 0.02, amounts: 0.05} and names of single ones."`
	Tune           *Tune               `yaml:"tune"`
	MinCoverage    *float64            `yaml:"min_coverage" min:"0" max:"1" doc:"Least share of runs without faults (default 0.95)."`

	// Tree is the text it was decoded from.
	Tree *source.Node `yaml:",here"`
	// PricesAsOf is the day of the prices that models have from the file, "" where none has.
	PricesAsOf string `yaml:"-"`
	// Resolved are the configurations with sweeps spread out and equal ones joined.
	Resolved []Resolved `yaml:"-"`

	refused []string // names of configurations with faults
}

// MostTrials is the most that trials may be, as its tag says.
const MostTrials = 1_000_000

// Root is a folder outside the suite's own.
type Root struct {
	Env     string `yaml:"env" doc:"The environment variable that names the folder."`
	Default string `yaml:"default" doc:"Relative to the suite's folder."`

	Node *source.Node `yaml:",here" some:"env default" hint:"write {env: AGENTBENCH_DATA, default: ../data}"`
}

// Configuration is a loop with one assignment of its parameters, or a sweep.
type Configuration struct {
	Name  string              `yaml:"name" need:"required" minlen:"1"`
	Loop  string              `yaml:"loop" need:"required" minlen:"1" doc:"A loop file."`
	Set   source.Named[any]   `yaml:"set" doc:"Parameter paths and their values." also:"params parameters overrides"`
	Sweep source.Named[[]any] `yaml:"sweep" doc:"Parameter paths and lists of values: one configuration for each combination."`

	Node *source.Node `yaml:",here"`
}

// Resolved is one configuration as it runs.
type Resolved struct {
	Name string
	// Of is the configuration of the suite in which Params are set; "": the suite has this one itself.
	Of string
	// Aliases are the names of the configurations that are equal to this one.
	Aliases []string
	Loop    *Loop
	// Params are the parameters set, by full path, in the order declared.
	Params []Param
	// Hash identifies the loop after presets and parameters.
	Hash string
}

// Param is a parameter of a configuration.
type Param struct {
	Path  string
	Value any
}

// SuiteBudget is what the whole suite may spend. Zero means no limit.
type SuiteBudget struct {
	CostUSD  float64       `yaml:"cost_usd" above:"0" max:"1000000" also:"cost usd dollars max_cost money"`
	Calls    int64         `yaml:"calls" min:"1" also:"requests max_calls"`
	Tokens   int64         `yaml:"tokens" min:"1"`
	Duration time.Duration `yaml:"duration" above:"0"`
}

// resolveAll makes all configurations of a suite. Where there are too many it makes none, which would take long.
func (l *loader) resolveAll(s *Suite) (all []Resolved) {
	if len(s.Configurations) > maxCombinations {
		l.fault(s.Tree.Get("configurations").Items[maxCombinations], "", "a suite may have %s configurations", Thousands(maxCombinations))
		return nil
	}
	for i := range s.Configurations {
		c, before := &s.Configurations[i], l.errors
		if l.checkSet(c) {
			all = append(all, l.resolve(c)...)
		}
		if l.errors > before {
			s.refused = append(s.refused, c.Name)
		}
	}
	return all
}

// resolve spreads a configuration: one loop for each combination of its sweep.
func (l *loader) resolve(c *Configuration) []Resolved {
	file := l.loopFile(c.Node.Get("loop"), l.doc.folder)
	if file == nil || file.tree == nil {
		return nil
	}
	var base []Assignment
	if set := c.Node.Get("set"); set != nil {
		for _, entry := range set.Entries {
			base = append(base, Assignment{Path: entry.Key, At: entry.KeyPos, Value: entry.Value})
		}
	}
	var sweep []dimension
	at := c.Node.Get("sweep")
	if at != nil {
		for _, entry := range at.Entries {
			var d dimension
			for _, item := range entry.Value.Items {
				d = append(d, Assignment{Path: entry.Key, At: entry.KeyPos, Value: item})
			}
			sweep = append(sweep, d)
		}
	} else {
		at = c.Node
	}
	if !l.affordsConfigurations(at, combinations(sweep), file) {
		return nil
	}
	if len(sweep) == 0 {
		return l.resolved(file, c.Name, base)
	}
	return l.spread(file, c.Name, base, sweep)
}

// resolved makes one configuration.
func (l *loader) resolved(file *loopFile, name string, settings []Assignment) []Resolved {
	settings = append(settings[:len(settings):len(settings)], l.flags...)
	loop := l.instance(file, settings)
	if loop == nil {
		return nil
	}
	return []Resolved{{Name: name, Loop: loop, Params: ParamsOf(settings), Hash: loop.hash}}
}

// ParamsOf are parameters by their full paths, as a suite has those of its configurations. Of those set twice, by a file and
// by a flag, the last value holds.
func ParamsOf(assignments []Assignment) (params []Param) {
	for _, a := range assignments {
		p := Param{Path: FullPath(a.Path), Value: a.Value.Plain()}
		switch p.Value.(type) {
		case []any, *source.Object: // whole numbers by themselves stay whole, as counters are in expressions
			p.Value = valueOf(p.Value)
		}
		if i := slices.IndexFunc(params, func(known Param) bool { return known.Path == p.Path }); i >= 0 {
			params[i] = p
			continue
		}
		params = append(params, p)
	}
	return params
}

// FullPath undoes the short forms of a path: max_iterations, and what stands below terminate.any.
func FullPath(path string) string {
	if path == "max_iterations" {
		return "terminate." + path
	}
	if rest, ok := strings.CutPrefix(path, "terminate.any."); ok {
		return "terminate." + rest
	}
	return path
}

// joinEqual keeps the first of the configurations that are equal, under all their names.
func joinEqual(all []Resolved) []Resolved {
	var kept []Resolved
	index := map[string]int{}
	for _, r := range all {
		if i, ok := index[r.Hash]; ok {
			kept[i].Aliases = append(kept[i].Aliases, r.Name)
			continue
		}
		index[r.Hash] = len(kept)
		kept = append(kept, r)
	}
	return kept
}

// Configuration finds a configuration by its name or an alias, and gives it that name; nil if there is none.
func (s *Suite) Configuration(name string) *Resolved {
	if r := s.resolved(name); r != nil {
		return r.As(name)
	}
	return nil
}

func (s *Suite) resolved(name string) *Resolved {
	for i := range s.Resolved {
		if s.Resolved[i].Called(name) {
			return &s.Resolved[i]
		}
	}
	return nil
}

// Called reports whether it is the name of the configuration, or an alias.
func (r *Resolved) Called(name string) bool {
	return r.Name == name || slices.Contains(r.Aliases, name)
}

// As is the configuration with an alias as its name.
func (r *Resolved) As(alias string) *Resolved {
	at := slices.Index(r.Aliases, alias)
	if at < 0 {
		return r
	}
	as := *r
	as.Name, as.Aliases = alias, slices.Concat([]string{r.Name}, r.Aliases[:at], r.Aliases[at+1:])
	return &as
}

// Metric is a number that is made of a score of many runs, or several such numbers: one for each way to reduce and each k.
type Metric struct {
	Name      string   `yaml:"name" minlen:"1" doc:"Default: of what it is made of, such as close pass@4."`
	Score     string   `yaml:"score" minlen:"1" doc:"The scorer (default: the first)."`
	Reduce    []string `yaml:"reduce" need:"required" single:"allowed" enum:"mean|median|min|max|std|pass_rate|pass_at_k|pass_hat_k|majority|best_of_k" hint:"the average is mean, pass@k is pass_at_k with k" doc:"What the trials of a task become; the metric is the mean over the tasks."`
	K         []int    `yaml:"k" single:"allowed" min:"1" max:"1000000" doc:"pass_at_k, pass_hat_k, best_of_k: of how many trials."`
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

// Margins are the smallest changes that matter, by what they are of: "scores" and "amounts", the name of a scorer, or one
// of Amounts. Those of amounts are shares: 0.1 is 10 %. In YAML `margin: 0.03` is short for {scores: 0.03}.
type Margins struct {
	Of source.Named[float64]

	Node *source.Node
}

// The entries of Margins that stand for many.
const (
	AllScores  = "scores"
	AllAmounts = "amounts"
)

// Amounts are what comparisons compare beside scores; of all of them less is better.
var Amounts = []string{"cost_usd", "tokens", "latency_s", "iterations", "calls"}

// marginBounds say what a margin may be.
const marginBounds = `above:"0" max:"1000000"`

// DecodeNode takes a number or a mapping.
func (m *Margins) DecodeNode(n *source.Node, d *source.Decoder) {
	m.Node = n
	if n.Kind == source.Map {
		for _, entry := range n.Entries {
			named := source.Pair[float64]{Key: entry.Key, Node: entry.Value}
			d.DecodeTagged(entry.Value, &named.Value, marginBounds)
			m.Of = append(m.Of, named)
		}
		return
	}
	all := source.Pair[float64]{Key: AllScores, Node: n}
	d.DecodeTagged(n, &all.Value, marginBounds)
	m.Of = append(m.Of, all)
}

func (m *Margins) JSONSchema(g *source.Generator) map[string]any {
	number := g.Tagged(float64(0), marginBounds)
	return map[string]any{"anyOf": []any{number, map[string]any{"type": "object", "additionalProperties": number}}}
}

// checkMargins finds margins of what no comparison compares.
func (l *loader) checkMargins(s *Suite) {
	if s.Margin == nil {
		return
	}
	names := slices.Concat([]string{AllScores, AllAmounts}, Amounts, s.scoreNames())
	for _, m := range s.Margin.Of {
		if !slices.Contains(names, m.Key) {
			l.fault(m.Node, didYouMean(m.Key, names), "nothing that is compared is called %q", m.Key)
		}
	}
}

// SchemaSuite is the JSON Schema of suite files.
func SchemaSuite() ([]byte, error) { return schemaOf(Suite{}, "An agentbench suite") }

// SchemaLoop is the JSON Schema of loop files.
func SchemaLoop() ([]byte, error) { return schemaOf(Loop{}, "An agentbench loop") }

// SchemaImport is the JSON Schema of mappings, which import reads logs by.
func SchemaImport() ([]byte, error) { return schemaOf(Import{}, "An agentbench import mapping") }

func schemaOf(kind any, title string) ([]byte, error) {
	schema := source.Schema(kind)
	schema["title"] = title
	return json.MarshalIndent(schema, "", "  ")
}

// JSON is the JSON text of a value that was written as YAML.
type JSON []byte

// DecodeNode takes a mapping.
func (j *JSON) DecodeNode(n *source.Node, d *source.Decoder) {
	var plain any
	if n.Kind != source.Map {
		d.Fault(n, "", "want a mapping")
		return
	}
	d.Decode(n, &plain)
	text, err := expr.AppendJSON(nil, valueOf(plain))
	if err != nil {
		d.Fault(n, "", "%v", err)
	}
	*j = text
}

func (j *JSON) JSONSchema(*source.Generator) map[string]any { return map[string]any{"type": "object"} }

// valueOf turns a plain value of YAML into one of expressions: every number is a double there, as in JSON.
func valueOf(plain any) any {
	switch v := plain.(type) {
	case int64:
		return float64(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = valueOf(v[i])
		}
		return list
	case *source.Object:
		object := expr.NewObject(len(v.Keys))
		for i, key := range v.Keys {
			object.Set(key, valueOf(v.Values[i]))
		}
		return object
	}
	return plain
}
