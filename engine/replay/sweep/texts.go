package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// NeedsTexts says why a loop can be replayed on whole records only, and not on
// runs without texts (replay.WithoutTexts); "" where both say the same.
func NeedsTexts(recorded, target *spec.Loop) string {
	if texts := replay.New(recorded, target, replay.Options{}).Texts(); len(texts) > 0 {
		return "it reads " + strings.Join(texts, ", ")
	}
	if _, _, cancels := stop.Compile(target).CancelAt(); cancels {
		return "a timeout cancels the iteration in flight"
	}
	if budget := target.Guards.Budget; budget != nil && budget.Hard {
		return "a hard budget cuts the iteration in flight"
	}
	if apart := replay.Apart(recorded, target); apart != "" {
		return fmt.Sprintf("it takes another path: %s", apart)
	}
	return ""
}

// ReadsTask says whether a loop decides by what stands in the task,
// so that it can only be replayed where the tasks are at hand.
func ReadsTask(l *spec.Loop) bool {
	return slices.ContainsFunc(replay.Reads(l), func(path string) bool {
		variable, _, _ := strings.Cut(path, ".")
		return variable == "task"
	})
}
