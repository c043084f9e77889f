package stats_test

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// The readme of the vectors states these: closed forms and exact tests, and
// whatever goes through a quantile of our own.
const (
	closed      = 1e-9
	ofQuantiles = 1e-6
)

// sections are the vectors, computed with R and checked with scipy, and what
// holds the package to each of them. Of a section, figures of methods that this
// package leaves out on purpose are not looked at: Wald's, Jeffreys', Agresti and
// Coull's and corrected intervals, chi-squared McNemar with correction, doubled
// tails, BCa and basic bootstraps, Hodges and Lehmann's shift, Bonferroni.
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
	"two_sample_permutation":     each(checkPermutation),
	"wilcoxon_signed_rank":       each(checkSignedRank),
	"friedman":                   one(checkFriedman),
	"power_t_paired":             each(checkNeededT),
	"median_ci_order_statistics": each(checkMedianOrders),
	"rank_correlation":           one(checkCorrelation),
	"pass_at_k":                  each(checkPassAtK),
	"pass_hat_k":                 each(checkPassHatK),
	"pass_k_undefined":           each(checkPassUndefined),
	"cumulative_incidence":       one(checkIncidence),
	"cumulative_incidence_tau":   one(checkTauIncidence),
	"bootstrap_exhaustive":       each(checkExhaustive),
	"bootstrap_binary_exact":     each(checkBinaryBootstrap),
	"bootstrap_cluster_tau":      one(checkTauBootstrap),
	"pareto":                     each(checkFront),
	"successive_halving":         one(checkHyperband),
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

func readVectors(t *testing.T) (vectors map[string]json.RawMessage) {
	t.Helper()
	recordingtest.Decode(t, "vectors/stats_vectors.json", &vectors)
	return vectors
}
