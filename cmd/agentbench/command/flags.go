package command

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Flags that several commands have are declared here, or in a group of flags with a
// declare of its own: once. What can be told from a value alone is refused as soon as it
// is read, so that every command refuses the same values with the same text.

// checked is a flag that refuses values as it reads them.
type checked struct {
	kind string // of value, as pflag calls it
	set  func(text string) error
	text func() string
}

// Set implements [pflag.Value].
func (v *checked) Set(text string) error { return v.set(text) }

// Type implements [pflag.Value].
func (v *checked) Type() string { return v.kind }

// String implements [pflag.Value].
func (v *checked) String() string { return v.text() }

// wholeFlag declares a number from least to most; 0, where it is not given, is the
// command's own default.
func wholeFlag(c *cobra.Command, to *int, name string, least, most int, hint, use string) {
	c.Flags().Var(&checked{"int", func(text string) error {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return err
		case n < least && most == noMost:
			return exit.Usage(hint, "--%s %d: want at least %d", name, n, least)
		case n < least || n > most:
			return exit.Usage(hint, "--%s %d: want %d to %d", name, n, least, most)
		}
		*to = n
		return nil
	}, func() string { return strconv.Itoa(*to) }}, name, use)
}

const noMost = int(^uint(0) >> 1)

// listFlag declares a flag that is given once for each of several values.
func listFlag[T any](c *cobra.Command, to *[]T, name, short, use string, read func(text string) (T, error)) {
	l := &list{}
	l.checked = checked{"stringArray", func(text string) error {
		value, err := read(text)
		if err == nil {
			*to, l.texts = append(*to, value), append(l.texts, text)
		}
		return err
	}, func() string { return strings.Join(l.texts, " ") }}
	c.Flags().VarP(l, name, short, use)
}

// list is a flag of several values, which are kept as they were written.
type list struct {
	checked
	texts []string
}

func (l *list) GetSlice() []string { return l.texts }

func concurrencyFlag(c *cobra.Command, to *int, what string) {
	wholeFlag(c, to, "concurrency", 1, noMost, "--concurrency 1 is one after the other", what+" at the same time (default: the suite's, else 8)")
}

func quietFlag(c *cobra.Command, to *bool, what string) {
	c.Flags().BoolVarP(to, "quiet", "q", false, what+" on stderr")
}

func outFlag(c *cobra.Command, to *string, what string) {
	c.Flags().StringVarP(to, "out", "o", "", what)
}

func setFlag(c *cobra.Command, to *[]spec.Setting, use string) {
	listFlag(c, to, "set", "", use+": path=value (repeatable)", func(text string) (s spec.Setting, err error) {
		path, value, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return s, exit.Usage("for example --set terminate.max_iterations=5", "--set %s: want path=value", text)
		}
		s = spec.Setting{Path: path, Value: value}
		_, faults := s.Assign("--set")
		return s, wrongValue(faults)
	})
}

// assigned are the values of --set.
func assigned(set []spec.Setting) (all []spec.Assignment) {
	for _, s := range set {
		a, _ := s.Assign("--set") // the flag has refused what is no value
		all = append(all, a)
	}
	return all
}

// axisFlag declares parameters with the values that are tried.
func axisFlag(c *cobra.Command, to *[]sweep.Axis, name, short, use string) {
	listFlag(c, to, name, short, use, func(text string) (sweep.Axis, error) {
		axis, faults := sweep.AxisFrom("--"+name, text)
		return axis, wrongValue(faults)
	})
}

// wrongValue makes faults of a flag wrong usage.
func wrongValue(faults source.Faults) error {
	if faults.Err() == nil {
		return nil
	}
	return &exit.Error{Code: exit.WrongUsage, Err: faults}
}

// cacheFlags say what of the cache a run may use, and where it is.
type cacheFlags struct {
	mode cache.Mode
	dir  string
}

func (f *cacheFlags) declare(c *cobra.Command) {
	f.mode = cache.On
	c.Flags().Var(&checked{"string", func(text string) (err error) {
		if f.mode, err = cache.ParseMode(text); err != nil {
			return exit.Usage(exit.DidYouMean(text, cache.Modes, "there are: "+strings.Join(cache.Modes, ", ")), "%w", err)
		}
		return nil
	}, func() string { return string(f.mode) }}, "cache", "paid answers: "+strings.Join(cache.Modes, ", ")+" (only: make no call at all)")
	c.Flags().StringVar(&f.dir, "cache-dir", "", "folder of the cache (default: cache, beside the result folder)")
	// It fails only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("cache", cobra.FixedCompletions(cache.Modes, cobra.ShellCompDirectiveNoFileComp))
}

// recordFlags say how a suite is recorded.
type recordFlags struct {
	cacheFlags
	out         string
	concurrency int
	quiet       bool
	grace       time.Duration
	attempts    int
}

func (f *recordFlags) declare(c *cobra.Command, out string) {
	f.cacheFlags.declare(c)
	f.grace, f.attempts = 30*time.Second, 3
	outFlag(c, &f.out, out)
	concurrencyFlag(c, &f.concurrency, "runs")
	quietFlag(c, &f.quiet, "no progress and no notes")
	c.Flags().Var(&checked{"duration", func(text string) error {
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			return exit.Usage("--grace 0s cancels them at once", "--grace %v: want no less than 0s", d)
		}
		f.grace = d
		return err
	}, func() string { return f.grace.String() }}, "grace", "time that runs in flight have to end after an interrupt")
	wholeFlag(c, &f.attempts, "attempts", 1, noMost, "", "how often a run with faults is tried, all sessions together")
}

// selectionFlags narrow or change what a suite runs.
type selectionFlags struct {
	tasks, configurations []string
	set                   []spec.Setting
	limit, trials         int
	shardFlags
}

func (f *selectionFlags) declare(c *cobra.Command) {
	// StringArray, because StringSlice parts values at commas.
	c.Flags().StringArrayVar(&f.tasks, "task", nil, "run only this task (repeatable)")
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "run only this configuration (repeatable)")
	setFlag(c, &f.set, "set a parameter in every configuration")
	wholeFlag(c, &f.limit, "limit", 1, noMost, "", "run only the first so many tasks")
	wholeFlag(c, &f.trials, "trials", 1, spec.MostTrials, "", "repetitions of every task (default: the suite's, else 1)")
	f.shardFlags.declare(c)
}
