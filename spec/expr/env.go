package expr

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

const (
	maxExpression = 4096 // characters
	maxDepth      = 40   // levels of nesting, as the parser counts them
)

// Options sets the limits of an environment; the zero value has those of conditions and prompts.
type Options struct {
	NoEstimate bool   // accept expressions whatever their estimated cost
	CostLimit  uint64 // what one evaluation may cost; 0 means 1,000,000
	// Deadline is how long one evaluation may take whatever it costs; 0 means a minute. It is far beyond what the
	// cost limit allows: a result must not depend on how busy the machine is.
	Deadline  time.Duration
	MaxValues int // how many values a result may hold, counted through; 0 means 1,000,000
	// Words are the fields that hold one of a few words: comparing them with others is a fault.
	Words map[string][]string
}

func (o Options) withDefaults() Options {
	if o.CostLimit == 0 {
		o.CostLimit = maxEstimate
	}
	if o.Deadline == 0 {
		o.Deadline = time.Minute
	}
	if o.MaxValues == 0 {
		o.MaxValues = 1_000_000
	}
	return o
}

// Env is the typed environment of one place of the language. It is safe for concurrent use and remembers what it
// compiled, because the configurations of a sweep share most of their expressions.
type Env struct {
	cel      *cel.Env
	provider *provider
	options  Options
	names    suggestions

	programs  sync.Map // of programKey to *compiled
	templates sync.Map // of string to *compiledTemplate
}

// NewEnv makes an environment of the variables. It costs about half a millisecond: make one for each place.
func NewEnv(vars []Var, options Options) (*Env, error) {
	declared := append(language(), withStructs(vars), cel.CustomTypeAdapter(adapter{}))
	for _, v := range vars {
		declared = append(declared, cel.Variable(v.Name, v.Type.cel()))
	}
	env, err := cel.NewEnv(declared...)
	if err != nil {
		return nil, fmt.Errorf("making an expression environment: %w", err)
	}
	e := &Env{cel: env, provider: env.CELTypeProvider().(*provider), options: options.withDefaults()}
	e.names = newSuggestions(env, vars)
	return e, nil
}

// language is what every environment knows: the dialect of CEL and its libraries.
func language() []cel.EnvOption {
	return append([]cel.EnvOption{
		cel.OptionalTypes(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserExpressionSizeLimit(maxExpression),
		ext.Strings(), ext.Math(), ext.Lists(), ext.Sets(), ext.Bindings(), ext.TwoVarComprehensions(), ext.Regex(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		ownEstimates(),
	}, append(ownFunctions(), growingFunctions()...)...)
}
