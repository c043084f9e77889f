package reports_test

import (
	"testing"

	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/page"
)

// infestedCalibration has an evil name wherever a name can come from outside.
func infestedCalibration(name string) *calibrate.Calibration {
	return &calibrate.Calibration{
		Suite: name, Scorer: name, Simulated: []string{name}, Labels: 3, Scored: 2, Units: 2,
		Agreement: []calibrate.Agreement{{Between: "scorer and label", Pairs: 2, Same: page.Known(1)}},
		Confusion: calibrate.Confusion{Levels: []string{name, "b" + name}, Counts: [][]int{{1, 0}, {0, 1}}},
		Unscored:  []calibrate.Unscored{{Why: name, Count: 1}}, Disagreements: []calibrate.Disagreement{{Name: name, Explanation: name}},
		Notes: []calibrate.Note{{Kind: calibrate.NoScores, Count: 1, Of: 3, More: name}, {Kind: calibrate.OneLabel, Name: name}, {Kind: calibrate.Rare, Name: name, Count: 1, Of: 3}, {Kind: calibrate.OneScore, Name: name}},
	}
}

// P18: what holds for reports holds for the page of calibrate.
func TestNoFormatOfCalibrationsObeysNames(t *testing.T) {
	for _, name := range evil {
		c := infestedCalibration(name)
		checkFormats(t, name, everyFormat(t, c, calibrate.TableNames, 120))
		checkFormats(t, name, everyFormat(t, c, nil, 60))
	}
}
