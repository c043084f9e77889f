package expr

// Step is the environment of guards that look at single steps: the loop's, and the step after which they are asked.
// What is of the last iteration there is of the last whole one; the step's own is still under way.
func Step(output Type) *Env { return stepPlaces.get(output, stepVars, Options{}) }

// Tool is the environment of a tool that is an expression. Call counts the run's tool calls before this one.
func Tool() *Env {
	return toolPlace.get(Any, func(Type) []Var {
		return []Var{{"args", MapOf(Any)}, {"task", task()}, {"call", Int}}
	}, Options{})
}

// UserUntil is the environment of what ends a conversation with a user: the user's turn, and its number in the
// iteration, from 1.
func UserUntil() *Env {
	return userPlace.get(Any, func(Type) []Var {
		return []Var{{"message", String}, {"turn", Int}, {"task", task()}}
	}, Options{})
}

// ToolCall is the environment of what judges one tool call after the loop: the scorers', and the call.
func ToolCall(output Type) *Env {
	return toolCallPlaces.get(output, func(output Type) []Var { return append(scorerVars(output), Var{"call", toolCall()}) }, Options{})
}

var stepPlaces, toolPlace, userPlace, toolCallPlaces place

func stepVars(output Type) []Var {
	return append(loopVars(output), Var{"step", Struct("step",
		Var{"number", Int}, // in its iteration, from 1
		Var{"text", String},
		Var{"calls", ListOf(toolCall())})})
}

// toolCall is one use of a tool. Its result is null where there is none, its error "" where it did not fail, and its
// arguments are a text where they could not be read.
func toolCall() Type {
	return Struct("tool_call", Var{"tool", String}, Var{"arguments", Any}, Var{"result", Any}, Var{"error", String},
		Var{"iteration", Int}, Var{"step", Int}) // both from 1; a program that tells of its calls has no steps: 0
}
