package reports

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

// apart is by how much each vote of a panel is off the mean of those on its
// question; nil where one judge voted alone, or a vote is missing.
func apart(votes []record.Vote, questions [][]float64) (all []float64) {
	missing := func(v record.Vote) bool { return v.Judge == "" || v.Unscored != "" }
	if slices.ContainsFunc(votes, missing) {
		return nil
	}
	for _, of := range questions {
		mean, _ := stats.Mean(of)
		for _, value := range of {
			all = append(all, value-mean)
		}
	}
	return all
}

// noise is the variance that votes leave in the mean of them. What a judge of a
// panel differs by from the others on every output is no part of it, since it
// moves the scores of all trials alike.
func noise(heard []*judged) (variance float64, ok bool) {
	var alone []float64
	var panel [][]float64
	questions := 0
	for _, one := range heard {
		switch {
		case len(one.apart) > 0:
			panel, questions = append(panel, one.apart), max(questions, one.questions)
		case one.several && !one.panel:
			alone = append(alone, one.noise)
		}
	}
	if len(panel) > 0 {
		return panelNoise(panel, questions)
	}
	return stats.Mean(alone)
}

// panelNoise is what is left of the votes when the means over outputs are taken
// from the votes at each place of the panel: the residual of two ways, outputs and
// places, per vote.
func panelNoise(panel [][]float64, questions int) (variance float64, ok bool) {
	places := 0
	for _, votes := range panel {
		places = max(places, len(votes))
	}
	panel = slices.DeleteFunc(panel, func(votes []float64) bool { return len(votes) < places })
	if len(panel) < 2 || places <= questions {
		return 0, false
	}
	left := 0.0
	column := make([]float64, len(panel))
	for place := range places {
		for i := range panel {
			column[i] = panel[i][place]
		}
		of, _ := stats.Variance(column) // over one less than the outputs, as wanted
		left += of
	}
	return left / float64(places-questions) / float64(places), true
}
