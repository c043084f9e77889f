package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// A sweep of a quickstart-like loop: two models times limits. The weak one is
// cheap and shown to be worse sooner or later, the strong one is right more often.
const (
	seedModels = `tasks: tasks.jsonl
models:
  small: {provider: simulate, quality: {start: 0.40, limit: 0.70, rate: 0.5, spread: 0.15, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.1, output: 0.4}}
  large: {provider: simulate, quality: {start: 0.55, limit: 0.93, rate: 0.5, spread: 0.15, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.5, output: 2.0}}
scorers: [{name: right, type: numeric, value: output.answer}]
concurrency: 4
`
	seedParameters = `{agent.model: [small, large], terminate.confidence.threshold: [0.7, 0.8, 0.9, 0.95], terminate.max_iterations: [1, 2, 3, 4, 5, 6], terminate.no_improvement.patience: [1, 2, off]}`
	seedTuned      = "suite: tuned\nconfigurations: [{name: default, loop: answer.loop.yaml}]\n" + seedModels +
		"tune:\n  parameters: " + seedParameters + "\n  choose: {rule: at_least, share: 0.98, cost: iterations.sum}\n"
	seedExhaustive = "suite: exhaustive\nconfigurations: [{name: default, loop: answer.loop.yaml}, {name: grid, loop: answer.loop.yaml, sweep: " + seedParameters + "}]\n" + seedModels
)

// triedOut is what a configuration made of all tasks.
type triedOut struct {
	name              string
	hits, iterations  int
	model, patience   int
	threshold, limits float64
}

// seedFolder writes the suite that is tuned and the one that runs everything.
func seedFolder(t testing.TB, tasks int) string {
	t.Helper()
	dir := liveFolder(t, seedTuned, tasks)
	loop := strings.Replace(liveLoop, "model: good", "model: large", 1)
	for name, text := range map[string]string{"exhaustive.yaml": seedExhaustive, "answer.loop.yaml": loop} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// exhaustive runs every configuration live, and gives the one that is cheapest of
// those with at least 98 % of the best score: of equally cheap ones the better,
// then the one with the smaller parameters. It is told in the names of the sweep.
func exhaustive(t *testing.T, dir string, seed int) (chosen string, calls int64) {
	t.Helper()
	out := filepath.Join(dir, fmt.Sprint("all", seed))
	typed(t, 0, nil, "run", filepath.Join(dir, "exhaustive.yaml"), "--seed", fmt.Sprint(seed), "--out", out, "--quiet")
	all := map[string]*triedOut{}
	for s, err := range record.ReadLight(out) {
		if err != nil {
			t.Fatal(err)
		}
		if all[s.Configuration] == nil {
			all[s.Configuration] = triedOutOf(t, s.Configuration)
		}
		c := all[s.Configuration]
		c.iterations += len(s.Iterations)
		calls += s.Usage.Calls
	}
	m, err := record.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	for score, err := range record.ReadScores(out) {
		if err != nil {
			t.Fatal(err)
		}
		if score.Iteration == 0 && score.Value >= 1 {
			all[configurationOf(&m, score.Run)].hits++
		}
	}
	return cheapest(all), calls
}

func configurationOf(m *record.Manifest, run string) string {
	for i := range m.Configurations {
		if strings.HasPrefix(run, m.Configurations[i].Name+"/") {
			return m.Configurations[i].Name
		}
	}
	return ""
}

// triedOutOf reads the parameters out of a name.
func triedOutOf(t *testing.T, name string) *triedOut {
	c := &triedOut{name: name, model: 1, threshold: 0.85, limits: 3, patience: 1e6} // the default
	inner, ok := strings.CutPrefix(name, "grid@")
	if !ok {
		return c
	}
	c.name = inner
	for part := range strings.SplitSeq(inner, ",") {
		key, value, _ := strings.Cut(part, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case key == "model":
			c.model = strings.Index("small large", value)
		case key == "threshold":
			c.threshold = number
		case key == "max_iterations":
			c.limits = number
		case key == "patience" && err == nil:
			c.patience = int(number)
		case key != "patience":
			t.Fatalf("%s: what is %s?", name, key)
		}
	}
	return c
}

// changed is in how many parameters it differs from the default.
func (c *triedOut) changed() int {
	return count01(c.model == 0) + count01(c.threshold != 0.85) + count01(c.limits != 3) + count01(c.patience != 1e6)
}

func cheapest(all map[string]*triedOut) string {
	var tried []*triedOut
	best := 0
	for _, c := range all {
		tried, best = append(tried, c), max(best, c.hits)
	}
	tried = slices.DeleteFunc(tried, func(c *triedOut) bool { return float64(c.hits) < 0.98*float64(best)-1e-9 })
	slices.SortFunc(tried, func(a, b *triedOut) int {
		return cmp.Or(cmp.Compare(a.iterations, b.iterations), cmp.Compare(b.hits, a.hits), cmp.Compare(a.changed(), b.changed()), cmp.Compare(min(a.model, 1), min(b.model, 1)),
			cmp.Compare(a.threshold, b.threshold), cmp.Compare(a.limits, b.limits), cmp.Compare(a.patience, b.patience))
	})
	return tried[0].name
}

// tunedAt is what tune recommends, with how many calls, and whether it said that it
// cannot tell.
func tunedAt(t *testing.T, dir string, seed int) (chosen string, calls int64, cannotTell bool) {
	t.Helper()
	out := filepath.Join(dir, fmt.Sprint("tuned", seed))
	text, _ := typed(t, 0, nil, "tune", filepath.Join(dir, "suite.yaml"), "--seed", fmt.Sprint(seed), "--out", out, "--quiet", "--format", "json")
	var told struct {
		Recommended struct{ Name string }
		Notes       []struct{ Kind, Detail string }
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		t.Fatal(err)
	}
	for _, note := range told.Notes {
		cannotTell = cannotTell || note.Kind == "race" && strings.Contains(note.Detail, "inconclusive")
	}
	for s, err := range record.ReadLight(out) {
		if err != nil {
			t.Fatal(err)
		}
		calls += s.Usage.Calls
	}
	return told.Recommended.Name, calls, cannotTell
}

// Over many seeds tune finds what running the whole grid finds, with at most a
// twentieth of the calls; where it does not, it says that it cannot tell.
// AGENTBENCH_SEEDS says how many seeds.
func TestTuneFindsWhatRunningEverythingFinds(t *testing.T) {
	skipLong(t) // TestARaceIsTheSameAtAnyConcurrency runs there
	t.Parallel()
	seeds := 2
	if n, err := strconv.Atoi(os.Getenv("AGENTBENCH_SEEDS")); err == nil {
		seeds = n
	}
	found, silent := 0, 0
	var made, all int64
	for seed := 1; seed <= seeds; seed++ {
		dir := seedFolder(t, 60)
		got, few, cannotTell := tunedAt(t, dir, seed)
		want, many := exhaustive(t, dir, seed)
		made, all = made+few, all+many
		if again, calls, _ := tunedAt(t, dir, seed); again != got || calls != few {
			t.Errorf("seed %d: again %s with %d calls, first %s with %d", seed, again, calls, got, few)
		}
		if few*20 > many {
			t.Errorf("seed %d: %d calls of %d", seed, few, many)
		}
		if got == want {
			found++
			continue
		}
		t.Logf("seed %d: %s, want %s; it said that it cannot tell: %v", seed, got, want, cannotTell)
		if !cannotTell {
			silent++
		}
	}
	t.Logf("%d of %d seeds found, %d otherwise without saying so; %d of %d calls, one in %.1f", found, seeds, silent, made, all, float64(all)/float64(made))
	if found*100 < 95*seeds || silent > 0 {
		t.Errorf("%d of %d seeds found, %d otherwise without saying so", found, seeds, silent)
	}
}

func count01(is bool) int {
	if is {
		return 1
	}
	return 0
}
