package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:     "tune DIR | SUITE",
		Short:   "Find the limits that give the most for the least, from recorded runs",
		GroupID: "look",
		Long: `Tries many configurations of a loop on runs that were recorded, without a call, and
recommends one: by default the cheapest that loses hardly a success. DIR is a result
folder; it answers for what stops no later than it did. SUITE is recorded first, under
the loosest limits, as its tune says. docs/tune.md tells the whole story.

Exit codes: 0 there is a recommendation, even if it is today's configuration; 1 nothing
satisfies what was asked for; 4 the budget or an interrupt ended the recording; 5 there is
nothing to choose from.`,
		RunE: func(c *cobra.Command, args []string) error {
			args = f.given(args)
			if err := arguments(1, 1, "one result folder or suite")(c, args); err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			return p.tune(c.Context(), args[0], &f)
		},
	}
	f.declare(c, tune.TableNames)
	return c
}

// tune recommends a configuration from what was recorded, or will be.
func (p *program) tune(ctx context.Context, path string, f *tuneFlags) error {
	if !holdsResultsAt(path) || f.resumes(path) {
		return p.tuneRecording(ctx, path, f)
	}
	var suite *opened
	if f.suite != "" {
		var err error
		if suite, err = p.openSuite(f.suite, nil); err != nil {
			return err
		}
		p.warn(suite, nil)
	}
	return p.tuneFolder(ctx, path, suite, f)
}

// resumes reports whether a path names a suite that ships and the folder of that name
// that it is recorded into.
func (f *tuneFlags) resumes(path string) bool {
	_, ships := suites.Find(path)
	return ships && f.out != "" && filepath.Clean(f.out) == path
}

// holdsResultsAt says that a path is a result folder, or a file that openRecorded
// knows better than spec does.
func holdsResultsAt(path string) bool {
	at, _ := results.SplitPlace(path, results.BaselineFolder)
	info, err := os.Stat(at)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return results.IsFolder(at)
	}
	return filepath.Ext(at) == ".jsonl"
}

// tuning is what is tuned, on what, and how one is chosen.
type tuning struct {
	*recordedRuns
	flags *tuneFlags
	suite *opened // whose files --write changes; nil: not named
	// noToday: several configurations are tuned, and none of them is today's.
	noToday    bool
	set        []spec.Assignment
	axes       []sweep.Axis
	options    tune.ChoiceOptions
	candidates []sweep.Candidate
}

// tuneFolder recommends from the runs of a folder.
func (p *program) tuneFolder(ctx context.Context, dir string, suite *opened, f *tuneFlags) error {
	runs, err := p.openRecordedRuns(dir, &recordedFlags{suite: f.suite})
	if err != nil {
		return err
	}
	t := &tuning{recordedRuns: runs, flags: f, suite: suite}
	if err := firstFailing(t.baseOnly, t.editable, t.ask, t.asked); err != nil {
		return err
	}
	if err := t.grid(); err != nil {
		return err
	}
	of, err := t.sweep(t.candidates)
	if err != nil {
		return err
	}
	if of, err = t.scored(ctx, of, f.cacheFlags); err != nil {
		return err
	}
	return t.choose(ctx, of)
}

// firstFailing takes steps until one fails.
func firstFailing(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// baseOnly finds the configuration whose loop is tuned: in the suite that is named,
// as it is now, else among those that were recorded.
func (t *tuning) baseOnly() error {
	m := &t.folder.Manifest
	recorded := m.Baseline
	if len(m.Configurations) == 1 {
		recorded = m.Configurations[0].Name
	}
	wanted := cmp.Or(t.flags.configuration, t.only)
	if t.suite != nil {
		now, err := tunedIn(t.suite, wanted)
		if err == nil {
			t.bases = []sweep.Base{{Name: now.Name, Loop: now.Loop}}
			return nil
		}
		if _, known := m.Configuration(wanted); !known && (wanted != "" || recorded != "") {
			return err
		}
	}
	if wanted = cmp.Or(wanted, recorded); wanted == "" {
		t.bases, t.noToday = t.all(), true
		slices.SortFunc(t.bases, func(a, b sweep.Base) int { return cmp.Compare(a.Name, b.Name) }) // the order in the folder changes nothing
		return nil
	}
	t.bases = nil
	return t.base([]string{wanted})
}

// editable refuses --write where it could not write, before anything is computed.
func (t *tuning) editable() error {
	if !t.flags.edit {
		return nil
	}
	switch {
	case t.suite == nil:
		return usage("--suite SUITE names it", "--write changes the files of a suite, and no suite is named")
	case t.noToday:
		return usage("--configuration NAME names it", "--write changes one configuration, and %s holds several and no baseline", t.place)
	}
	return t.unedited(t.suite.Editable(t.today().Name))
}

// today is the configuration whose loop is tuned.
func (t *tuning) today() sweep.Base { return t.bases[0] }

// declared is what the suite says of tuning; nil where it says nothing. The suite
// that is named comes before the one that was recorded.
func (t *tuning) declared() *spec.Tune {
	if t.suite != nil && t.suite.Suite.Tune != nil {
		return t.suite.Suite.Tune
	}
	return t.folder.Document.Suite.Tune
}

// ask reads how one is chosen.
func (t *tuning) ask() (err error) {
	m := &t.folder.Manifest
	t.options, err = t.terms(&t.flags.termFlags, t.declared(), m.Scorers)
	if !t.flags.termFlags.changed("seed") {
		t.options.Seed = uint64(m.Seed)
	}
	t.options.About = tune.ReplayOptions{Suite: m.Suite, Simulated: m.Simulated, PricesAsOf: m.PricesAsOf}
	return err
}

// choose recommends, says so, and changes the YAML where that was asked for.
func (t *tuning) choose(ctx context.Context, of tune.Candidates) error {
	t.options.About.Warnings = append(t.options.About.Warnings, t.left...)
	if !t.noToday {
		t.options.Tuned = t.today().Name
	}
	t.options.All = slices.Contains(t.flags.tables, "all")
	defer reports.Leanly()()
	tuned, err := tune.Choose(ctx, of, t.options)
	if err != nil {
		return t.untuned(err)
	}
	if err := t.write(tuned, &t.flags.reportFlags); err != nil {
		return err
	}
	switch {
	case tuned.Recommended == nil && t.flags.format == "terminal":
		return quiet(answerNo) // the page says why
	case tuned.Recommended == nil:
		return fail(answerNo, tuned.Answer(printable).More, "nothing is recommended: %s", tuned.WhyNone)
	}
	if !t.flags.edit {
		return nil
	}
	return t.edit(tuned)
}

// untuned says why nothing can be chosen.
func (t *tuning) untuned(err error) error {
	const aloneHint = "it takes more tasks, or others that belong together"
	var unknown *tune.UnknownScoreError
	var alone *tune.OneGroupError
	switch {
	case errors.As(err, &unknown):
		return usage(didYouMean(unknown.Name, unknown.Known, "there are: "+some(unknown.Known)), "%w", err)
	case errors.As(err, &alone) && t.flags.termFlags.changed("hold-out"):
		return usage(aloneHint, "--hold-out %v: %w", t.options.HoldOut, err)
	case errors.As(err, &alone):
		return fail(wrongSpec, aloneHint, "tune.folds.hold_out: %w", err)
	case errors.Is(err, tune.ErrLossOfSmall):
		return usage("for example --choose within_one_se", "%w", err)
	case errors.Is(err, context.Canceled):
		return fail(stopped, "", "%w", err)
	}
	return fail(notMeasured, "", "tuning %s: %w", t.place, err)
}

// tuneFlags say what is tuned, and how one configuration is chosen. What a flag
// does not say, the suite's tune does.
type tuneFlags struct {
	reportFlags
	termFlags
	recordFlags
	plan          bool
	suite         string
	configuration string
	set           []spec.Setting
	parameters    []sweep.Axis
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
	f.recordFlags.declare(c, "folder for what a suite's runs record; recorded runs of the same suite are gone on with (default results/SUITE-TIME-…)")
	flags := c.Flags()
	flags.BoolVar(&f.plan, "plan", false, "only say what of a suite would be recorded, and what it may cost")
	flags.StringVar(&f.suite, "suite", "", "the suite that the runs are of: its tune, its tasks, and the files that --write changes")
	flags.StringVar(&f.configuration, "configuration", "", "tune the loop of this configuration (default: the baseline, else the only one)")
	setFlag(c, &f.set, "set a parameter in all that is tried")
	axisFlag(c, &f.parameters, "parameter", "p", "a parameter and its values: path=1,2,5,off or path=1..10,off (repeatable; default: the suite's tune, else the limits of the loop)")
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
	return f.reportFlags.validate()
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
		case "constraint", "set", "parameter":
			for _, value := range flag.Value.(interface{ GetSlice() []string }).GetSlice() {
				text.WriteString(" --" + flag.Name + " " + shellWord(value))
			}
		}
	})
	return text.String()
}

// terms are what a tuning is asked for: what the suite says, and over that the
// flags.
func (p *program) terms(f *termFlags, t *spec.Tune, scorers []string) (tune.ChoiceOptions, error) {
	o := optionsOf(t)
	rule, err := f.rule()
	if err != nil {
		return o, err
	}
	if rule.Rule != "" {
		rule.Cost = o.Choose.Cost
		o.Choose = rule
	}
	c := compiled{scorers: scorers}
	if f.objective != "" {
		o.Objective = c.metric("--objective", f.objective, expr.WantNumber)
	}
	if f.cost != "" {
		o.Choose.Cost = c.metric("--cost", f.cost, expr.WantNumber)
	}
	if len(f.constraints) > 0 {
		o.Constraints = nil
	}
	for _, text := range f.constraints {
		if term := c.metric("--constraint", text, expr.WantBool); term != nil {
			o.Constraints = append(o.Constraints, *term)
		}
	}
	if f.foldBy != "" {
		o.By = c.compile("--fold-by", expr.Fold(), f.foldBy, expr.WantAny)
	}
	if c.faults.Print(p.err); c.faults.Err() != nil {
		return o, quiet(wrongUsage)
	}
	f.over(&o)
	return o, nil
}

// over puts the flags that are no expressions over what the suite says.
func (f *termFlags) over(o *tune.ChoiceOptions) {
	if f.changed("minimize") {
		o.Minimize = f.minimize
	}
	switch {
	case f.changed("hold-out"):
		o.HoldOut = f.holdOut
	case f.changed("folds") && f.folds == 0:
		o.Folds, o.HoldOut = -1, 0
	case f.changed("folds"):
		o.Folds, o.HoldOut = f.folds, 0
	}
	if f.changed("seed") {
		o.Seed = uint64(f.seed)
	}
}

// optionsOf is what a suite asks for, whose expressions are compiled.
func optionsOf(t *spec.Tune) (o tune.ChoiceOptions) {
	if t == nil {
		return o
	}
	o.Objective, o.Minimize = termOf(t.Objective), t.Minimize
	for i := range t.Constraints {
		o.Constraints = append(o.Constraints, *termOf(&t.Constraints[i]))
	}
	if c := t.Choose; c != nil {
		o.Choose = tune.ChoiceRule{Rule: tune.Rule(c.Rule), Cost: termOf(c.Cost)}
		switch o.Choose.Rule {
		case tune.MaxLoss:
			o.Choose.Number = tune.DefaultMaxLoss
			if c.MaxLoss != nil {
				o.Choose.Number = *c.MaxLoss
			}
		case tune.AtLeast:
			o.Choose.Number = *c.Share
		}
	}
	if t.Folds != nil {
		o.Folds, o.By = t.Folds.K, termOf(t.Folds.By)
		if t.Folds.HoldOut != nil {
			o.HoldOut = *t.Folds.HoldOut
		}
	}
	return o
}

func termOf(e *spec.Expr) *tune.Term {
	if e == nil {
		return nil
	}
	return &tune.Term{Text: e.Text, Program: e.Program}
}

// compiled gathers what is wrong with the expressions of flags.
type compiled struct {
	scorers []string
	faults  source.Faults
}

// metric is an expression over the metrics of a configuration; it may only name
// scores that there are.
func (c *compiled) metric(flag, text string, want expr.Want) *tune.Term {
	before := len(c.faults)
	term := c.compile(flag, expr.Objective(), text, want)
	for i := before; i < len(c.faults); i++ {
		c.faults[i].Hint = c.metricHint(&c.faults[i], text)
	}
	if term == nil {
		return nil
	}
	for _, m := range spec.Misreads(configurationReads(term.Reads()), spec.Readable{Scorers: c.scorers}) {
		at := max(0, strings.Index(text, m.Name))
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: len([]rune(text[:at])) + 1},
			Len: len([]rune(m.Name)), What: "there is no scorer " + quoteName(m.Name), Hint: didYouMean(m.Name, m.Known, "there are: "+some(m.Known))})
	}
	return term
}

// metricNames are what people call metrics.
var metricNames = map[string]string{
	"cost": "cost_usd.mean", "price": "cost_usd.mean", "dollars": "cost_usd.mean", "time": "latency.mean", "seconds": "latency.mean", "duration": "latency.mean",
}

// metricHint says which number over many runs was meant where a name is none.
func (c *compiled) metricHint(f *source.Fault, text string) string {
	characters := []rune(text)
	from := min(len(characters), f.Pos.Col-1)
	name := string(characters[from:min(len(characters), from+f.Len)])
	switch {
	case f.What == "unknown name "+strconv.Quote(name) && slices.Contains(c.scorers, name):
		return fmt.Sprintf("did you mean scores[%q].mean?", printable(name))
	case f.What == "unknown name "+strconv.Quote(name) && metricNames[name] != "":
		return "did you mean " + metricNames[name] + "?"
	case f.Hint == "" && severalNumbers.MatchString(f.What):
		return "it has several numbers: say which, for example .mean"
	}
	return f.Hint
}

// severalNumbers matches the records that hold the numbers of a metric.
var severalNumbers = regexp.MustCompile(`[( ](spread|total|score)[,)]`)

// configurationReads are paths over the metrics of one configuration, as
// thresholds would read them.
func configurationReads(reads []string) (paths []string) {
	for _, path := range reads {
		if strings.HasPrefix(path, "scores.") {
			paths = append(paths, "diff."+path)
		}
	}
	return paths
}

func (c *compiled) compile(flag string, env *expr.Env, text string, want expr.Want) *tune.Term {
	program, faults := env.Compile(text, want)
	for _, f := range faults {
		c.faults = append(c.faults, source.Fault{File: source.NewFile(flag, []byte(text)), Pos: source.Pos{Line: 1, Col: f.Offset + 1},
			Len: f.Len, What: f.What, Hint: f.Hint, Warning: f.Warning})
	}
	if program == nil {
		return nil
	}
	return &tune.Term{Text: text, Program: program}
}

func quoteName(name string) string { return `"` + printable(name) + `"` }

// edit changes the files of the suite to what is recommended, and shows how.
func (t *tuning) edit(tuned *tune.Tuning) error {
	if tuned.Unchanged {
		fmt.Fprintf(t.err, "nothing is written: %s is what is recommended\n", printable(t.today().Name))
		return nil
	}
	candidate := &t.candidates[tuned.Recommended.Candidate]
	name, params := t.today().Name, t.assignments(candidate)
	if err := t.unchanged(candidate.Declared(), params); err != nil {
		return err
	}
	known := t.suite.Suite.Configuration(name).Loop
	params = slices.DeleteFunc(params, func(a spec.Assignment) bool {
		same, _ := known.With(a)
		return same != nil && same.Hash() == known.Hash()
	})
	files, err := t.suite.Edit(name, params...)
	if err != nil {
		return t.unedited(err)
	}
	if len(files) == 0 {
		fmt.Fprintf(t.err, "nothing is written: %s has these values already\n", printable(name))
		return nil
	}
	if err := replaceFiles(files); err != nil {
		return fail(notMeasured, "", "--write: %w", err)
	}
	for _, f := range files {
		_, _ = t.err.Write(diff.Diff(f.File.Name, []byte(f.File.Text()), f.File.Name, f.Text))
	}
	return nil
}

// unchanged refuses to write where the configuration of the suite is no longer the
// one that was recorded.
func (t *tuning) unchanged(wanted *spec.Loop, params []spec.Assignment) error {
	known := t.suite.Suite.Configuration(t.today().Name)
	if loop, _ := known.Loop.With(params...); loop == nil || !reflect.DeepEqual(loop.Values(), wanted.Values()) {
		return fail(wrongUsage, "record it again, or take over the values by hand", "--write: the configuration %s of %s is no longer the one that was recorded", printable(t.today().Name), t.suite.path)
	}
	return nil
}

// unedited says why nothing is written.
func (p *program) unedited(err error) error {
	var edit *spec.EditError
	var faults source.Faults
	switch {
	case err == nil:
		return nil
	case errors.As(err, &edit):
		return fail(wrongUsage, edit.Hint, "--write: nothing is written: %w", err)
	case errors.As(err, &faults):
		fmt.Fprintln(p.err, "agentbench: --write: nothing is written:")
		faults.Print(p.err)
		return quiet(wrongUsage)
	}
	return fail(notMeasured, "", "--write: nothing is written: %w", err)
}

// replacement is a file that is about to take the place of another one.
type replacement struct{ temporary, path string }

// replaceFiles writes all files beside those that they replace, and only then puts
// them in their places. What has changed since it was read is left alone.
func replaceFiles(files []spec.Edited) (err error) {
	var all []replacement
	defer func() {
		for _, r := range all {
			err = errors.Join(err, unlessGone(os.Remove(r.temporary)))
		}
	}()
	for _, f := range files {
		r, err := beside(&f)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			return err
		}
	}
	return nil
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// beside writes a file next to the one that it will replace, with its mode. A
// symbolic link stays one.
func beside(f *spec.Edited) (replacement, error) {
	path, err := filepath.EvalSymlinks(filepath.FromSlash(f.File.Name))
	if err != nil {
		return replacement{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return replacement{}, err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return replacement{}, err
	}
	if string(now) != f.File.Text() {
		return replacement{}, fmt.Errorf("%s has changed in the meantime", f.File.Name)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
	if err != nil {
		return replacement{}, err
	}
	_, err = temporary.Write(f.Text)
	return replacement{temporary.Name(), path}, errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close())
}
