package imports

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
)

// identities tell runs apart. Of each task and of each run 16 bytes are kept.
type identities struct {
	inputs map[digest]digest // of a task's input, by its id
	runs   map[digest]bool
	trials map[digest]int // the highest, by configuration and task
	// names are those of the clusters and the groups of tasks, by kind and task; the
	// tasks without one are left out.
	names map[digest]string

	// Renamed are runs whose task's id stood for another task already, Retried
	// those whose trial was there already, regrouped those whose task has another
	// cluster.
	renamed, retried, regrouped int
}

type digest [16]byte

func digestOf(parts ...string) digest {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return digest(h.Sum(nil)[:16])
}

func newIdentities() *identities {
	return &identities{inputs: map[digest]digest{}, runs: map[digest]bool{}, trials: map[digest]int{}, names: map[digest]string{}}
}

// task gives a task its id: the one that the mapping gives, unless that stands
// for a task with another input; then the name of the file is put before it, and
// where that is not enough, its line. New says that the task was not there yet.
func (ids *identities) task(id string, input []byte, file string, line int) (own string, isNew bool) {
	sum := digestOf(string(input))
	base := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), path.Ext(file))
	for n, own := range []string{id, base + ":" + id, fmt.Sprintf("%s:%d:%s", file, line, id)} {
		known, taken := ids.inputs[digestOf(own)]
		if taken && known != sum && n < 2 {
			continue
		}
		if n > 0 {
			ids.renamed++
		}
		ids.inputs[digestOf(own)] = sum
		return own, !taken
	}
	return id, false
}

// trial gives a run its trial: the one that the mapping gives, unless there is
// one; 0 or one that is there already becomes the next.
func (ids *identities) trial(configuration, task string, declared int) int {
	of := digestOf(configuration, task)
	key := func(trial int) digest { return digestOf(configuration, task, fmt.Sprint(trial)) }
	trial := declared
	if declared > 0 && ids.runs[key(declared)] {
		ids.retried++
		trial = 0
	}
	if trial == 0 {
		trial = ids.trials[of] + 1
	}
	ids.runs[key(trial)] = true
	ids.trials[of] = max(ids.trials[of], trial)
	return trial
}

// named is the cluster or the group of a task, as the kind says: what its first
// run gives.
func (ids *identities) named(kind, task string, isNew bool, given string) string {
	known := ids.names[digestOf(kind, task)]
	switch {
	case isNew && given != "":
		ids.names[digestOf(kind, task)] = given
		return given
	case !isNew && given != known:
		ids.regrouped++
	}
	return known
}
