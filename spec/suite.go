package spec

import (
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Suite is tasks x configurations with scorers, a budget and thresholds.
type Suite struct {
	Name           string              `yaml:"suite" need:"required" minlen:"1" doc:"The suite's name."`
	Roots          source.Named[Root]  `yaml:"roots" doc:"Other folders that files may be read from, as name:/path."`
	Tasks          Tasks               `yaml:"tasks" need:"required" doc:"A list, a file, or a mapping over files."`
	Models         source.Named[Model] `yaml:"models"`
	Prices         string              `yaml:"prices" minlen:"1" doc:"A file with a date and prices, for models that say none: {as_of: 2026-11-01, prices: {gpt-4o: {input: 2.50, output: 10.00}}}."`
	Configurations []Configuration     `yaml:"configurations" need:"required" minlen:"1"`
	Cluster        *Expr               `yaml:"cluster" doc:"CEL over task: tasks of one cluster depend on each other, and intervals know it (default: each task for itself)."`
	Baseline       string              `yaml:"baseline" doc:"The configuration that the others are compared with."`
	Scorers        []Scorer            `yaml:"scorers"`
	Metrics        []Metric            `yaml:"metrics" minlen:"1" doc:"Numbers over many runs, such as pass@k of a score."`
	GroupBy        *Expr               `yaml:"group_by" doc:"CEL over task: metrics are told of each group of tasks as well."`
	Trials         int                 `yaml:"trials" min:"1" max:"1000000" doc:"Repetitions of every task (default 1)."`
	Seed           int64               `yaml:"seed"`
	Concurrency    int                 `yaml:"concurrency" min:"1" doc:"Runs at the same time (default 8)."`
	Budget         SuiteBudget         `yaml:"budget"`
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
}

// MostTrials is the most that trials may be, as its tag says.
const MostTrials = 1_000_000

// Root is a folder outside the suite's own.
type Root struct {
	Env     string `yaml:"env" doc:"The environment variable that names the folder."`
	Default string `yaml:"default" doc:"Relative to the suite's folder."`
}

// Configuration is a loop with one assignment of its parameters, or a sweep.
type Configuration struct {
	Name  string              `yaml:"name" need:"required" minlen:"1"`
	Loop  string              `yaml:"loop" need:"required" minlen:"1" doc:"A loop file."`
	Set   source.Named[any]   `yaml:"set" doc:"Parameter paths and their values."`
	Sweep source.Named[[]any] `yaml:"sweep" doc:"Parameter paths and lists of values: one configuration for each combination."`

	Node *source.Node `yaml:",here"`
}

// Resolved is one configuration as it runs.
type Resolved struct {
	Name string
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
	CostUSD  float64       `yaml:"cost_usd" above:"0" max:"1000000"`
	Calls    int64         `yaml:"calls" min:"1"`
	Tokens   int64         `yaml:"tokens" min:"1"`
	Duration time.Duration `yaml:"duration" above:"0"`
}
