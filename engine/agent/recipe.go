package agent

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// fitting is what the recipe of a program adds to it in one iteration.
type fitting struct {
	recipe         *spec.Recipe
	declared       []string // the command, as the loop has it
	model, session string
}

// fitting is that of an iteration; nil: the program has no recipe.
func (a *Program) fitting(turn *Turn) *fitting {
	recipe := spec.RecipeOf(a.Spec.Recipe)
	if recipe == nil {
		return nil
	}
	f := &fitting{recipe: recipe, declared: a.Program.Argv, session: session(turn)}
	if len(a.Spec.Models) > 0 {
		f.model = asks(a.Spec.Models)
	}
	return f
}

// named is the recipe as it counts among what a program was given; "": it has none.
func (f *fitting) named() string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("recipe %s %d", f.recipe.Program, f.recipe.Version)
}

// asks is the name that a program has to ask for: the first one without a pattern, else that of the model that
// serves all others.
func asks(models spec.Served) string {
	if at := slices.IndexFunc(models, func(n source.Pair[string]) bool { return n.Key != "default" && !strings.ContainsAny(n.Key, `*?[\`) }); at >= 0 {
		return models[at].Key
	}
	if at := slices.IndexFunc(models, func(n source.Pair[string]) bool { return n.Key == "default" }); at >= 0 {
		return models[at].Value
	}
	return models[0].Value
}

// session is a UUID that belongs to an iteration of a task's trial.
func session(turn *Turn) string {
	id := sha256.Sum256(fmt.Appendf(nil, "%q %d %d", turn.Task.ID, turn.Trial, turn.Iteration))
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
