package stats_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vectors are inputs and outputs computed with R, checked with scipy.
type vectors struct {
	Proportions []struct {
		X      float64    `json:"x"`
		N      float64    `json:"n"`
		Conf   float64    `json:"conf"`
		Wilson [2]float64 `json:"wilson"`
	} `json:"proportion_ci"`
	Clustered []struct {
		Name     string      `json:"name"`
		Mean     float64     `json:"mean"`
		N        float64     `json:"n"`
		SE       float64     `json:"se_cr1"`
		Y        []float64   `json:"y"`
		G        []string    `json:"g"`
		NEff     float64     `json:"n_eff"`
		WilsonOn *[2]float64 `json:"wilson_effective_n95"`
		T95      [2]float64  `json:"ci95_t_cr1"`
	} `json:"clustered_se"`
	PairedT   []pairedT `json:"paired_t"`
	Quantiles struct {
		X     []float64 `json:"x"`
		Probs []float64 `json:"probs"`
		Type7 []float64 `json:"type7"`
	} `json:"quantiles"`
	Calibration struct {
		Confidence []float64 `json:"confidence"`
		Outcome    []float64 `json:"outcome"`
		Brier      float64   `json:"brier"`
		AUROC      float64   `json:"auroc"`
	} `json:"calibration"`
}

type pairedT struct {
	A  []float64  `json:"a"`
	B  []float64  `json:"b"`
	CI [2]float64 `json:"ci95"`
}

func (v pairedT) differences() []float64 {
	d := make([]float64, len(v.A))
	for i := range d {
		d[i] = v.A[i] - v.B[i]
	}
	return d
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	dir := os.Getenv("AGENTBENCH_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	text, err := os.ReadFile(filepath.Join(dir, "vectors", "stats_vectors.json"))
	if err != nil {
		t.Skip("the statistics vectors are not here (AGENTBENCH_DATA): ", err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
