package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tuneFlags say what is tuned, and how one configuration is chosen. What a flag
// does not say, the suite's tune does.
type tuneFlags struct {
	reportFlags
	termFlags
	recordFlags
	plan          bool
	suite         string
	configuration string
	set           []string
	parameters    []string
	json          bool
	// edit says that the recommendation is to be written into the YAML.
	edit bool
	all  *pflag.FlagSet
}

// termFlags say how one configuration is chosen.
type termFlags struct {
	objective   string
	minimize    bool
	constraints []string
	choose      string
	cost        string
	folds       int
	holdOut     float64
	foldBy      string
	seed        int64

	changed func(string) bool
}

// writesYAML is what --write without a format means.
const writesYAML = "yaml"

func (f *tuneFlags) declare(c *cobra.Command, tables []string) {
	f.reportFlags.declare(c, tables)
	f.termFlags.declare(c)
	f.recordFlags.declare(c)
	flags := c.Flags()
	flags.BoolVar(&f.plan, "plan", false, "only say what of a suite would be recorded, and what it may cost")
	flags.StringVar(&f.suite, "suite", "", "the suite that the runs are of: its tune, its tasks, and the files that --write changes")
	flags.StringVar(&f.configuration, "configuration", "", "tune the loop of this configuration (default: the baseline, else the only one)")
	flags.StringArrayVar(&f.set, "set", nil, "set a parameter in all that is tried: path=value (repeatable)")
	flags.StringArrayVarP(&f.parameters, "parameter", "p", nil, "a parameter and its values: path=1,2,5,off or path=1..10,off (repeatable; default: the suite's tune, else the limits of the loop)")
	flags.BoolVar(&f.json, "json", false, "short for --format json")
	write := flags.Lookup("write")
	write.NoOptDefVal = writesYAML
	write.Usage = "change the YAML to what is recommended; with FORMAT=FILE write the page to a file, for example json=tune.json (repeatable)"
	f.all, f.termFlags.changed = flags, flags.Changed
}

func (f *termFlags) declare(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.objective, "objective", "", "CEL over the metrics of a configuration, which is to be large (default: the mean of the first score)")
	flags.BoolVar(&f.minimize, "minimize", false, "the objective is to be small")
	flags.StringArrayVar(&f.constraints, "constraint", nil, "CEL over the metrics that has to hold, for example 'latency.mean < 5.0' (repeatable)")
	flags.StringVar(&f.choose, "choose", "", "max_loss:0.02, at_least:0.98, indistinguishable or within_one_se (default max_loss:0.02)")
	flags.StringVar(&f.cost, "cost", "", "CEL over the metrics that is to be small (default: cost_usd.mean, else tokens.mean, else iterations.mean)")
	flags.IntVar(&f.folds, "folds", 0, "parts of the tasks; chosen on all but one, reported on that one; 0: none (default 5)")
	flags.Float64Var(&f.holdOut, "hold-out", 0, "share of the tasks, for example 0.3: chosen on the others, reported on these; instead of folds")
	flags.StringVar(&f.foldBy, "fold-by", "", "CEL over task: tasks of an equal value share a fold")
	flags.Int64Var(&f.seed, "seed", 0, "seed of folds and resamples (default: the suite's)")
}

// given moves the formats behind --write from the arguments to the flag: it may
// stand alone, so that what follows it is no value of its own.
func (f *tuneFlags) given(args []string) (rest []string) {
	alone := 0
	f.writes = slices.DeleteFunc(f.writes, func(text string) bool {
		if text == writesYAML {
			alone++
			return true
		}
		return false
	})
	for _, arg := range args {
		format, _, ok := strings.Cut(arg, "=")
		if ok && alone > 0 && (format == "md" || slices.Contains(page.Formats, format)) {
			f.writes, alone = append(f.writes, arg), alone-1
			continue
		}
		rest = append(rest, arg)
	}
	f.edit = alone > 0
	return rest
}

func (f *tuneFlags) validate() error {
	if f.json {
		if f.changed("format") && f.format != "json" {
			return usage("give one of them", "--json and --format %s do not go together", f.format)
		}
		f.format = "json"
	}
	if f.changed("folds") && (f.folds < 0 || f.folds == 1) {
		return usage("--folds 5 is the usual number, --folds 0 chooses and reports on the same tasks", "--folds %d: want 0, or 2 or more", f.folds)
	}
	if err := f.validateHoldOut(); err != nil {
		return err
	}
	if _, err := f.rule(); err != nil {
		return err
	}
	return firstOf(f.recordFlags.validate(), f.reportFlags.validate())
}

// validateHoldOut wants a share that leaves tasks on both sides, and no folds.
func (f *termFlags) validateHoldOut() error {
	switch {
	case !f.changed("hold-out"):
		return nil
	case f.changed("folds"):
		return usage("give one of them", "--hold-out and --folds do not go together")
	case !(f.holdOut > 0 && f.holdOut < 1):
		return usage("for example --hold-out 0.3", "--hold-out %v: want a share above 0 and below 1", f.holdOut)
	}
	return nil
}

// rules are those that --choose names, and whether they have a number.
var rules = map[tune.Rule]bool{tune.MaxLoss: true, tune.AtLeast: true, tune.Indistinguishable: false, tune.WithinOneSE: false}

var ruleNames = []string{string(tune.MaxLoss), string(tune.AtLeast), string(tune.Indistinguishable), string(tune.WithinOneSE)}

// rule reads --choose; the zero value where it is not given.
func (f *termFlags) rule() (tune.ChoiceRule, error) {
	if f.choose == "" {
		return tune.ChoiceRule{}, nil
	}
	name, text, numbered := strings.Cut(f.choose, ":")
	rule := tune.Rule(name)
	takes, known := rules[rule]
	switch {
	case !known && isShare(name) && !numbered:
		return tune.ChoiceRule{}, usage("did you mean max_loss:"+name+"?", "--choose %s: want a rule before the number", f.choose)
	case !known:
		return tune.ChoiceRule{}, usage(didYouMean(name, ruleNames, "there are: "+strings.Join(ruleNames, ", ")), "--choose %s: there is no such rule", f.choose)
	case !takes && numbered:
		return tune.ChoiceRule{}, usage("--choose "+name, "--choose %s: %s has no number", f.choose, name)
	case rule == tune.MaxLoss && !numbered:
		return tune.ChoiceRule{Rule: rule, Number: tune.DefaultMaxLoss}, nil
	case !takes:
		return tune.ChoiceRule{Rule: rule}, nil
	}
	if !isShare(text) {
		return tune.ChoiceRule{}, usage("for example --choose max_loss:0.02 or --choose at_least:0.98", "--choose %s: want a number from 0 to 1 behind the colon", f.choose)
	}
	number, _ := strconv.ParseFloat(text, 64)
	return tune.ChoiceRule{Rule: rule, Number: number}, nil
}

// isShare says that a text is a number from 0 to 1.
func isShare(text string) bool {
	number, err := strconv.ParseFloat(text, 64)
	return err == nil && number >= 0 && number <= 1
}

// again are the flags that say what is tuned and how one is chosen, as they were given.
func (f *tuneFlags) again() string {
	var text strings.Builder
	f.all.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "configuration", "objective", "minimize", "choose", "cost", "folds", "hold-out", "fold-by", "seed":
			text.WriteString(" " + shellWord("--"+flag.Name+"="+flag.Value.String()))
		}
	})
	for _, given := range []struct {
		flag   string
		values []string
	}{{"--constraint", f.constraints}, {"--set", f.set}, {"--parameter", f.parameters}} {
		for _, value := range given.values {
			text.WriteString(" " + given.flag + " " + shellWord(value))
		}
	}
	return text.String()
}
