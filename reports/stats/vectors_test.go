package stats_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The readme of the vectors states these: closed forms and exact tests, and
// whatever goes through a quantile of our own.
const (
	closed      = 1e-9
	ofQuantiles = 1e-6
)

// sections are the vectors, computed with R and checked with scipy, and what
// holds the package to each of them.
var sections = map[string]func(*testing.T, json.RawMessage){
	"proportion_ci":              each(checkProportion),
	"mcnemar":                    each(checkMcNemar),
	"paired_binary_diff":         each(checkBonettPrice),
	"paired_permutation":         each(checkSignFlip),
	"mann_whitney":               each(checkMannWhitney),
	"clustered_se":               each(checkClustered),
	"paired_t":                   each(checkPairedT),
	"multiple_comparisons":       each(checkMultiplicity),
	"power_paired":               each(checkNeeded),
	"mde_paired":                 each(checkDetectable),
	"power_mcnemar_connor":       each(checkConnor),
	"power_two_prop":             each(checkTwoProportions),
	"normal":                     one(checkDistributions),
	"quantiles":                  one(checkQuantiles),
	"calibration":                one(checkCalibration),
	"pass_at_k":                  nothing, // not yet
	"bootstrap_binary_exact":     nothing, // not yet
	"wilcoxon_signed_rank":       nothing, // not yet
	"cumulative_incidence_tau":   nothing, // not yet
	"pareto":                     nothing, // not yet
	"cumulative_incidence":       nothing, // not yet
	"two_sample_permutation":     nothing, // not yet
	"pass_k_undefined":           nothing, // not yet
	"bootstrap_cluster_tau":      nothing, // not yet
	"bootstrap_exhaustive":       nothing, // not yet
	"power_t_paired":             nothing, // not yet
	"rank_correlation":           nothing, // not yet
	"pass_hat_k":                 nothing, // not yet
	"successive_halving":         nothing, // not yet
	"median_ci_order_statistics": nothing, // not yet
	"friedman":                   nothing, // not yet
	"engine":                     nothing,
	"readme":                     nothing,
}

func TestVectors(t *testing.T) {
	vectors := readVectors(t)
	for name, section := range vectors {
		check, known := sections[name]
		if !known {
			t.Errorf("the section %s is not tested", name)
			continue
		}
		t.Run(name, func(t *testing.T) { check(t, section) })
	}
	for name := range sections {
		if _, there := vectors[name]; !there {
			t.Errorf("the section %s is missing", name)
		}
	}
}

func each[T any](check func(*testing.T, T)) func(*testing.T, json.RawMessage) {
	return one(func(t *testing.T, vectors []T) {
		if len(vectors) == 0 {
			t.Error("no vectors")
		}
		for _, v := range vectors {
			check(t, v)
		}
	})
}

func one[T any](check func(*testing.T, T)) func(*testing.T, json.RawMessage) {
	return func(t *testing.T, section json.RawMessage) {
		var v T
		if err := json.Unmarshal(section, &v); err != nil {
			t.Fatal(err)
		}
		check(t, v)
	}
}

// nothing is for what only says where the vectors come from.
func nothing(*testing.T, json.RawMessage) {}

func dataFolder() string {
	if dir := os.Getenv("AGENTBENCH_DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared", "data")
}

func readVectors(t *testing.T) (vectors map[string]json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dataFolder(), "vectors", "stats_vectors.json"))
	if err != nil {
		t.Skip("the statistics vectors are not here (AGENTBENCH_DATA): ", err)
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}
