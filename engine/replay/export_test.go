package replay

import "github.com/agentbench/agentbench/spec"

// What the tests of this folder that import more than the package draw from.
var (
	DrawWorld  = drawWorld
	DrawLoop   = drawLoop
	DrawLimits = drawStopping
	Changed    = changed
	Widest     = widest
	Often      = often
)

// Run is a run of the loop in another draw of the world.
func (w *world) Run(l *spec.Loop) Recorded {
	w.seed++
	return Recorded{Run: w.run(l), Task: task}
}

// Options render and judge as a loop does in the world.
func (w *world) Options(l *spec.Loop) Options {
	return Options{Renderer: w.live(l), Judge: w.again(l)}
}
