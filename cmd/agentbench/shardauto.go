package main

import (
	"strconv"

	"github.com/agentbench/agentbench/engine/plan"
)

// shardVariable names a shard as i/n wherever nothing else does, and before all
// else.
const shardVariable = "AGENTBENCH_SHARD"

// shardVariables are where --shard auto looks, in this order. The first index
// that is set decides.
var shardVariables = []struct {
	system string
	index  string
	first  int      // what the index of the first shard is
	of     []string // the first that is set
}{
	{"a Kubernetes indexed Job", "JOB_COMPLETION_INDEX", 0, []string{"AGENTBENCH_SHARDS", "JOB_COMPLETIONS"}},
	{"GitLab", "CI_NODE_INDEX", 1, []string{"CI_NODE_TOTAL"}},
	{"CircleCI", "CIRCLE_NODE_INDEX", 0, []string{"CIRCLE_NODE_TOTAL"}},
	{"Buildkite", "BUILDKITE_PARALLEL_JOB", 0, []string{"BUILDKITE_PARALLEL_JOB_COUNT"}},
}

// shardOfMachine reads the shard from the variables of the system that runs the
// program.
func (p *program) shardOfMachine() (plan.Shard, error) {
	if text := p.env(shardVariable); text != "" {
		shard, err := plan.ParseShard(text)
		if err != nil {
			return shard, usage(shardVariable+"=1/3 is the first of three", "%s=%s: %w", shardVariable, printable(text), err)
		}
		return shard, nil
	}
	for _, v := range shardVariables {
		index := p.env(v.index)
		if index == "" {
			continue
		}
		name, of := p.firstSet(v.of)
		if of == "" {
			return plan.Shard{}, usage("set "+name+" to the number of shards, for "+v.system+" its completions", "--shard auto: %s is set, but not how many shards there are", v.index)
		}
		number, err := strconv.Atoi(index)
		if err != nil {
			return plan.Shard{}, usage("", "--shard auto: %s=%s: want a whole number", v.index, printable(index))
		}
		shard, err := plan.ShardOf(strconv.Itoa(number-v.first+1), of)
		if err != nil {
			return shard, usage("", "--shard auto: %s=%s and %s=%s: %w", v.index, printable(index), name, printable(of), err)
		}
		return shard, nil
	}
	if p.env("CI_NODE_TOTAL") == "1" { // GitLab, of a job without parallel
		return plan.Shard{Number: 1, Of: 1}, nil
	}
	return plan.Shard{}, usage("set "+shardVariable+"=i/n, or name the shard: --shard 1/3", "--shard auto: none of the variables is set that %s",
		"Kubernetes, GitLab, CircleCI and Buildkite number jobs with")
}

// firstSet is the first variable that is set; where none is, the name of the first.
func (p *program) firstSet(names []string) (name, value string) {
	for _, name := range names {
		if value := p.env(name); value != "" {
			return name, value
		}
	}
	return names[0], ""
}
