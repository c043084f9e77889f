package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// shardsOf says in a manifest which part of the suite its folder is to hold.
func shardsOf(planned *plan.Plan) *record.Shards {
	part := planned.Part
	if part == nil {
		return nil
	}
	held := record.Shard{Number: part.Number, Tasks: planned.Tasks, Runs: planned.Runs(), Status: record.StateRunning}
	return &record.Shards{Of: part.Of, Partition: part.Hash, Tasks: part.Whole(), Held: []record.Shard{held}}
}

// EndShard puts into the manifest what became of a shard.
func EndShard(m *record.Manifest) {
	s := m.Volatile.Shards
	if s == nil {
		return
	}
	s.Held[0].Runs, s.Held[0].Done, s.Held[0].Status = m.Totals.Planned, Measured(m)+m.Totals.Faults, m.Status
	m.Incomplete = s.Incomplete()
}

// sameShard refuses to add the runs of a shard to a folder that holds others.
func sameShard(dir string, before, now *record.Manifest) error {
	was, is := before.Volatile.Shards, now.Volatile.Shards
	switch {
	case is == nil && (was == nil || before.Tasks == was.Tasks): // the folder is about the whole suite
		return nil
	case is == nil:
		return exit.Usage(fmt.Sprintf("--shard %d/%d resumes it; use another --out to start again", was.Held[0].Number, was.Of),
			"%s holds %s of %d, not the whole suite", dir, HeldBy(was), was.Of)
	case was == nil:
		return exit.Usage("name another folder with --out", "%s holds results of the whole suite, not of shard %d of %d", dir, is.Held[0].Number, is.Of)
	case was.Of != is.Of || !slices.Equal(numbersOf(was), numbersOf(is)) || before.Tasks != was.Held[0].Tasks:
		return exit.Usage("give each shard a folder of its own with --out, and merge them",
			"%s holds %s of %d, not shard %d of %d", dir, HeldBy(was), was.Of, is.Held[0].Number, is.Of)
	case was.Partition != is.Partition:
		return exit.Usage("resume with the same tasks, --task and --limit, or name another --out",
			"%s holds shard %d of %d of a different partition of the tasks", dir, is.Held[0].Number, is.Of)
	}
	return nil
}

func HeldBy(s *record.Shards) string { return record.ShardNumbers(numbersOf(s)) }

func numbersOf(s *record.Shards) []int {
	numbers := make([]int, len(s.Held))
	for i := range s.Held {
		numbers[i] = s.Held[i].Number
	}
	return numbers
}

// Unmerged is why shards could not be joined, and what to do.
func Unmerged(out string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		if beside, is := errors.AsType[*fs.PathError](err); is {
			out = beside.Path
		}
		return exit.Usage("name another folder with --out", "%s exists already", out)
	}
	if overlap, is := errors.AsType[*record.Overlap](err); is {
		return exit.With(exit.NotMeasured, "agentbench show DIR "+exit.ShellWord(overlap.Run)+" prints it; leave out the folder that is wrong", "%w", err)
	}
	if _, is := errors.AsType[*record.InUse](err); is {
		return exit.With(exit.NotMeasured, "wait until it ends, or name another folder with --out", "%w", err)
	}
	return exit.With(exit.NotMeasured, "", "merging: %w", err)
}

// Mergeable refuses parts that do not belong together, or lack something.
func Mergeable(parts []record.Part, incomplete bool) error {
	for i := range parts[1:] {
		if err := together(&parts[0], &parts[i+1]); err != nil {
			return err
		}
	}
	holder := map[int]string{}
	all := &record.Shards{Of: parts[0].Manifest.Volatile.Shards.Of}
	var lacking []string
	for i := range parts {
		s := parts[i].Manifest.Volatile.Shards
		for h := range s.Held {
			number := s.Held[h].Number
			if before, held := holder[number]; held {
				return exit.Usage("leave one of them out", "%s and %s both hold shard %d of %d", before, parts[i].Dir, number, s.Of)
			}
			holder[number] = parts[i].Dir
			if s.Held[h].Unfinished() {
				lacking = append(lacking, fmt.Sprintf("shard %d in %s did not finish", number, parts[i].Dir))
			}
		}
		all = all.Joined(s)
	}
	if missing := all.Missing(); len(missing) > 0 {
		is := map[bool]string{true: "are", false: "is"}[len(missing) > 1]
		lacking = slices.Insert(lacking, 0, fmt.Sprintf("%s of %d %s missing", record.ShardNumbers(missing), all.Of, is))
	}
	if len(lacking) > 0 && !incomplete {
		return exit.With(exit.NotMeasured, "run what is missing, or merge what is there with --allow-incomplete", "%s", strings.Join(lacking, "; "))
	}
	return nil
}

// together refuses two parts that are not of one suite, made and divided in one way.
func together(one, other *record.Part) error {
	lines, err := partDifferences(one, other)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "comparing the specs: %w", err)
	}
	if len(lines) > 0 {
		what := strings.Join(append([]string{fmt.Sprintf("%s and %s do not belong together:", one.Dir, other.Dir)}, Fewest(lines)...), "\n  ")
		return exit.With(exit.WrongSpec, "shards are of one suite, with one seed, the same data and one version of agentbench", "%s", what)
	}
	s, t := one.Manifest.Volatile.Shards, other.Manifest.Volatile.Shards
	switch {
	case s.Of != t.Of:
		return exit.Usage("divide a suite into the same number of shards each time", "%s is one of %d shards, %s one of %d", one.Dir, s.Of, other.Dir, t.Of)
	case s.Partition != t.Partition:
		return exit.Usage("give all shards the same --task and --limit", "%s and %s have different partitions of the tasks: of %s, of %s",
			one.Dir, other.Dir, exit.Plural(s.Tasks, "task", "tasks"), exit.Plural(t.Tasks, "task", "tasks"))
	}
	return nil
}

// partDifferences are lines of what differs between the manifests of two
// parts, and may not.
func partDifferences(first, second *record.Part) ([]string, error) {
	one, other := &first.Manifest, &second.Manifest
	names := func(m *record.Manifest) string {
		var names []string
		for i := range m.Configurations {
			names = append(names, m.Configurations[i].Name)
		}
		return strings.Join(names, ", ")
	}
	var all Differences
	all.Compare("suite", one.Suite, other.Suite)
	all.Compare("agentbench", one.Agentbench, other.Agentbench)
	all.Compare("trials", one.Trials, other.Trials)
	all.Compare("configurations", names(one), names(other))
	all.allPrograms(one, other)
	lines := all.Lines()
	if one.SpecHash == other.SpecHash {
		return lines, nil
	}
	specs, _, err := bindings(partPlace(first), partPlace(second))
	if err != nil || specs[1] == nil {
		return lines, err
	}
	found := DifferencesBetween(specs[0], specs[1])
	for _, line := range found.Lines() {
		if !strings.HasPrefix(line, "suite:") { // it is among them
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func partPlace(p *record.Part) *Place {
	return &Place{Text: p.Dir, Results: &record.Results{Path: p.Dir, Manifest: p.Manifest}}
}

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

// ShardOfMachine reads the shard from the variables of the system that runs the
// program.
func ShardOfMachine(env func(string) string) (plan.Shard, error) {
	if text := env(shardVariable); text != "" {
		shard, err := plan.ParseShard(text)
		if err != nil {
			return shard, exit.Usage(shardVariable+"=1/3 is the first of three", "%s=%s: %w", shardVariable, text, err)
		}
		return shard, nil
	}
	if env(slurmIndex) != "" {
		return slurmShard(env)
	}
	for _, v := range shardVariables {
		index := env(v.index)
		if index == "" {
			continue
		}
		name, of := v.of[0], ""
		for _, candidate := range slices.Backward(v.of) {
			if value := env(candidate); value != "" {
				name, of = candidate, value
			}
		}
		if of == "" {
			return plan.Shard{}, exit.Usage("set "+name+" to the number of shards, for "+v.system+" its completions", "--shard auto: %s is set, but not how many shards there are", v.index)
		}
		number, err := strconv.Atoi(index)
		if err != nil {
			return plan.Shard{}, exit.Usage("", "--shard auto: %s=%s: want a whole number", v.index, index)
		}
		shard, err := plan.ShardOf(strconv.Itoa(number-v.first+1), of)
		if err != nil {
			return shard, exit.Usage("", "--shard auto: %s=%s and %s=%s: %w", v.index, index, name, of, err)
		}
		return shard, nil
	}
	if env("CI_NODE_TOTAL") == "1" { // GitLab, of a job without parallel
		return plan.Shard{Number: 1, Of: 1}, nil
	}
	return plan.Shard{}, exit.Usage("set "+shardVariable+"=i/n, or name the shard: --shard 1/3", "--shard auto: none of the variables is set that %s",
		"Slurm, Kubernetes, GitLab, CircleCI and Buildkite number jobs with")
}

const slurmIndex = "SLURM_ARRAY_TASK_ID"

// slurmShard reads the shard from the variables of a job in a Slurm array, whose indexes
// may begin with any number and have any step. An array that lists some indexes of
// another one, to repeat them, would be a partition of its own: it is refused where that
// shows, and else by the folder that holds the shard of the first partition.
func slurmShard(env func(string) string) (plan.Shard, error) {
	number := map[string]int{}
	for _, name := range []string{slurmIndex, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"} {
		value, err := strconv.Atoi(env(name))
		if err != nil || value < 0 {
			return plan.Shard{}, exit.Usage("name the shard: --shard 1/3", "--shard auto: %s=%s: want a whole number", name, env(name))
		}
		number[name] = value
	}
	index, first, last := number[slurmIndex], number["SLURM_ARRAY_TASK_MIN"], number["SLURM_ARRAY_TASK_MAX"]
	step, of := max(1, number["SLURM_ARRAY_TASK_STEP"]), number["SLURM_ARRAY_TASK_COUNT"]
	repeats := fmt.Sprintf("to repeat one job, use scontrol requeue, or set %s=i/n for it", shardVariable)
	switch {
	case last-first != step*(of-1) || index < first || index > last || (index-first)%step != 0:
		return plan.Shard{}, exit.Usage("submit the suite with --array=1-N; "+repeats, "--shard auto: the Slurm array from %d to %d has gaps: it has %s", first, last, exit.Plural(of, "job", "jobs"))
	case of == 1 && first > 1:
		return plan.Shard{}, exit.Usage(repeats, "--shard auto: the Slurm array has one job with the index %d: is it a part of another array?", first)
	}
	return plan.ShardOf(strconv.Itoa((index-first)/step+1), strconv.Itoa(of))
}

// OpenShards reads the manifests of folders that hold shards, each named once. Caches beside
// them, which shards/* names, too, are left out.
func OpenShards(dirs []string, read func(dir string) (record.Manifest, error)) ([]record.Part, error) {
	var parts []record.Part
	var infos []os.FileInfo
	if rest := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return filepath.Base(filepath.Clean(dir)) == Cache && !IsFolder(dir) }); len(rest) > 0 {
		dirs = rest
	}
	for _, dir := range dirs {
		if within, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json")); len(within) > 0 && !IsFolder(dir) {
			return nil, exit.Usage("agentbench merge "+exit.ShellWord(dir)+"/* merges those in it", "%s itself is not a shard", dir)
		}
		m, err := read(dir)
		if err != nil {
			return nil, err
		}
		if m.Volatile.Shards == nil {
			return nil, exit.Usage("merge is for folders of run --shard", "%s is not a shard: it holds results of the whole suite %s", dir, m.Suite)
		}
		info, err := os.Stat(dir)
		if err != nil {
			return nil, exit.Unmeasured(err)
		}
		for i := range infos {
			if os.SameFile(infos[i], info) {
				return nil, exit.Usage("name each folder once", "%s and %s are the same folder", parts[i].Dir, dir)
			}
		}
		infos = append(infos, info)
		parts = append(parts, record.Part{Dir: dir, Manifest: m})
	}
	return parts, nil
}
