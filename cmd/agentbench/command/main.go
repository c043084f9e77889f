// Package command is agentbench's command line: it reads flags, wires the packages
// that do the work, prints what they found, and turns the way it ended into an
// exit code.
//
// Each subcommand is a file of its name. Results go to stdout, everything else
// (progress, warnings, errors) to stderr. The exit codes:
//
//	0  fine
//	1  it ran, and the answer is no: a threshold does not hold, something is worse
//	2  wrong usage
//	3  the spec is wrong
//	4  stopped before the end: the suite's budget, or a signal
//	5  could not measure: infrastructure, coverage, missing shards, results not
//	   writable
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/source"
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	return run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
}

// Tree returns the commands with their flags and help, for man pages and completions.
func Tree() *cobra.Command {
	return (&program{env: os.Getenv, in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now}).commands()
}

// run is the program: it does what the arguments ask for and returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	p := &program{env: env, in: stdin, out: stdout, err: stderr, now: time.Now}
	p.guard()
	defer func() { code = p.leave(recover(), code) }()
	root := p.commands()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	return p.tell(root.ExecuteContext(ctx))
}

// program is what every subcommand works with.
type program struct {
	env func(string) string
	in  io.Reader
	out io.Writer // results only
	err io.Writer
	now func() time.Time
	// secrets are what out, err and all files are kept free of.
	secrets *secret.Redactor
	// unsealed are the folders of which it was told that their manifest has no digest.
	unsealed map[string]bool
}

func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "agentbench",
		Short: "Which agent loop, with which limits, gives the most quality per dollar and second?",
		Long: `agentbench tunes agent loops: it runs loops that are declared in YAML on tasks,
under a budget, and compares their configurations by quality, cost and time.

Start with:  agentbench run quickstart`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if tell, _ := c.Flags().GetBool("version"); tell && len(args) == 0 {
				p.tellVersion()
				return nil
			}
			return unknownCommand(c, args)
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Flags().Bool("version", false, "print the version")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddGroup(&cobra.Group{ID: "write", Title: "Write a suite:"},
		&cobra.Group{ID: "run", Title: "Run it:"}, &cobra.Group{ID: "look", Title: "Look at results:"})
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(p.initCommand(), p.checkCommand(), p.schemaCommand(), p.mockCommand(), p.planCommand(),
		p.runCommand(), p.scoreCommand(), p.importCommand(), p.mergeCommand(), p.reportCommand(), p.diffCommand(), p.replayCommand(), p.tuneCommand(), p.calibrateCommand(), p.baselineCommand(), p.showCommand(), p.repairCommand(), p.cacheCommand(), p.versionCommand())
	return root
}

// unknownCommand is what the program does with words that are no command.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return usage(didYouMean(args[0], names, "agentbench --help lists the commands"), "unknown command %q", args[0])
}

// kinds are what the flags of a type take.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a duration such as 30s",
}

// wrongFlag explains a flag that is not there, or that cannot take its value.
func wrongFlag(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help lists the flags"
	var missing *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &value) && kinds[value.GetFlag().Value.Type()] != "":
		return usage(help, "--%s %s: want %s", value.GetFlag().Name, value.GetValue(), kinds[value.GetFlag().Value.Type()])
	case !errors.As(err, &missing):
		return usage(help, "%v", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return usage(didYouMean("--"+missing.GetSpecifiedName(), names, help), "%v", err)
}

// didYouMean is the hint for a misspelt word: the word that was meant, or what
// else helps.
func didYouMean(word string, words []string, otherwise string) string {
	if closest := source.Closest(word, words); closest != "" {
		return "did you mean " + closest + "?"
	}
	return otherwise
}

// arguments checks how many arguments a command gets; a negative most
// means any number.
func arguments(least, most int, want string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usage(c.CommandPath()+" --help explains it", "%s: want %s, got %d", c.Name(), want, len(args))
		}
		return nil
	}
}

// helpCommand explains a command; unlike cobra's own it fails where there is
// none of that name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, _, err := root.Find(args)
			if err != nil || found == root && len(args) > 0 {
				return unknownCommand(root, args)
			}
			return found.Help()
		},
	}
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { p.tellVersion(); return nil },
	}
}

func (p *program) tellVersion() {
	fmt.Fprintf(p.out, "agentbench %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// version is the module's version, else the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// defaultWidth is that of output which is no terminal and whose COLUMNS is not set.
const defaultWidth = 100

// isTerminal says whether lines can be rewritten there.
func (p *program) isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && p.env("TERM") != "dumb" && p.env("CI") == ""
}

// width is how many cells a line may have.
func (p *program) width(w io.Writer) int {
	if columns, err := strconv.Atoi(p.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// colored says whether colours are welcome: on a terminal, unless NO_COLOR is set.
func (p *program) colored(w io.Writer) bool { return p.isTerminal(w) && p.env("NO_COLOR") == "" }

// printable replaces what a terminal obeys or cannot show by visible escapes, as
// pages do; texts of runs and names of tasks come from outside. Line feeds, too:
// a name is part of a line.
func printable(text string) string { return page.Visible(text) }

// The exit codes that are not 0. They are stable: scripts branch on them.
const (
	answerNo    = 1
	wrongUsage  = 2
	wrongSpec   = 3
	stopped     = 4
	notMeasured = 5
)

// failure is an error that knows its exit code and what to do about it.
type failure struct {
	code int
	err  error  // nil: everything has been said already
	hint string // may be empty
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail is a failure with a message; %w keeps its cause.
func fail(code int, hint, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), hint: hint}
}

func usage(hint, format string, args ...any) error { return fail(wrongUsage, hint, format, args...) }

// quiet is a failure that has been explained already.
func quiet(code int) error { return &failure{code: code} }

// tell prints how the program failed, if it did, and gives the exit code. What
// does not know its code is wrong usage found by the command line's library.
func (p *program) tell(err error) int {
	if err == nil {
		return 0
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{code: wrongUsage, err: err}
	}
	if f.err != nil {
		fmt.Fprintln(p.err, "agentbench: "+once(f.err.Error()))
	}
	if f.hint != "" {
		fmt.Fprintln(p.err, "hint: "+printable(f.hint))
	}
	return f.code
}

// once leaves out the lines of joined errors that say what one before them said.
func once(text string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		said := func(before string) bool { return strings.HasSuffix(before, line) }
		if line == "" || !slices.ContainsFunc(kept, said) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// some lists the first names of many, each once.
func some(names []string) string {
	const most = 8
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	names = once
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
