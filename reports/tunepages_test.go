package reports_test

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// infestedReplay has an evil name wherever a name can come from outside.
func infestedReplay(name string) *tune.Replay {
	value, err := json.Marshal(name)
	if err != nil {
		panic(err)
	}
	return &tune.Replay{
		Suite: name, Tasks: 1, Runs: 2, Recordings: []string{name, name, name, name}, Scorers: []string{name}, Simulated: []string{name}, PricesAsOf: name,
		Configurations: []tune.Configuration{{
			Name: name, Params: []record.Param{{Path: name, Value: value}}, Recording: name, Label: "needs calls", Runs: 2, Exact: 1, Branches: 1,
			Scores:   []tune.Score{{Name: name, Scored: 2}},
			Stops:    []tune.StopCount{{Name: name, Reason: record.ReasonWhen(name), Fired: name, Runs: 1}},
			Unknown:  []tune.Unknown{{Label: "needs calls", Why: name, Runs: 1, First: 1, Last: 2}},
			Warnings: []tune.ReplayNote{{Kind: tune.ReturnUnscored, Name: name, Count: 1, Of: 2}, {Kind: tune.Branching, Count: 1, Of: 2}},
		}},
		Warnings: []tune.ReplayNote{{Kind: tune.Against, Name: name}},
	}
}

// P18: what holds for reports holds for the pages of replay and tune.
func TestNoFormatOfReplaysObeysNames(t *testing.T) {
	for _, name := range evil {
		for _, p := range []page.Page{infestedReplay(name)} {
			checkFormats(t, name, everyFormat(t, p, tune.ReplayTableNames, 120))
			checkFormats(t, name, everyFormat(t, p, nil, 60))
		}
	}
}

// infestedTuning has an evil name wherever a name can come from outside.
func infestedTuning(name string) *tune.Tuning {
	choice := tune.Choice{Configuration: infestedReplay(name).Configurations[0]}
	step := tune.Step{Value: name, Label: "exact"}
	return &tune.Tuning{
		Suite: name, Simulated: []string{name}, PricesAsOf: name, Tasks: 1, Runs: 2,
		Terms:       tune.Terms{Objective: name, Score: name, Cost: name, WhyCost: name, Constraints: []string{name}, FoldsBy: name},
		Tried:       tune.Tried{Candidates: 2, Exact: 1, Excluded: []tune.Excluded{{Constraint: name}}, NotExact: []tune.NotExact{{Name: name, Label: "bounded", Why: name}}},
		Recommended: &choice, Recording: &choice, Why: name, WhyNone: name,
		Changes:    []tune.Change{{Path: name, From: name, To: name}},
		Against:    []tune.Versus{{What: "today", Name: name, All: []tune.Difference{{Quantity: name}}, Saved: []tune.Saving{{Quantity: name}}}},
		Validation: &tune.Validation{Folds: []tune.Fold{{Name: name, Why: name, HeldOut: tune.Counted{Runs: 1}}}},
		Front:      []tune.FrontRow{{Name: name}},
		Neighbours: []tune.Neighbour{{Of: "today", Path: name, Value: name, Less: &step}},
		Stops:      []tune.Stops{{Of: "today", Stops: choice.Stops}},
		Limits:     []tune.LimitUse{{Of: "today", Path: name, Advice: tune.Raise, Step: &step}},
		Ranges:     []tune.RangeHint{{Of: "today", Path: name, Hint: "planning"}},
		Curve:      []tune.CurveStep{{Iteration: 1}},
		Notes:      []tune.Note{{Kind: tune.OtherCost, Name: name, More: name}},
	}
}

func TestNoFormatOfTuningsObeysNames(t *testing.T) {
	for _, name := range evil {
		p := infestedTuning(name)
		checkFormats(t, name, everyFormat(t, p, tune.TableNames, 120))
		p.Recommended = nil
		checkFormats(t, name, everyFormat(t, p, nil, 60))
	}
}
