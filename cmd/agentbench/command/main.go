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
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/secret"
)

// Main runs the command line of this process and returns its exit code. Suites can also
// be run at the places, if there are any.
func Main(places ...Place) int {
	p := newProgram(os.Getenv, os.Stdin, os.Stdout, os.Stderr, places)
	log.SetOutput(p.err) // net/http logs what a server sends behind its answer
	return p.command(context.Background(), os.Args[1:])
}

// Tree returns the commands with their flags and help, for man pages and completions.
func Tree() *cobra.Command {
	return (&program{env: os.Getenv, in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now}).commands()
}

func newProgram(env func(string) string, stdin io.Reader, stdout, stderr io.Writer, places []Place) *program {
	p := &program{env: env, in: stdin, out: stdout, err: stderr, now: time.Now, tick: time.After, places: places}
	p.guard()
	return p
}

// command does what the arguments ask for and returns the exit code.
func (p *program) command(ctx context.Context, args []string) (code int) {
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
	// places are where suites can be run beside this process.
	places []Place
	// tick waits between two looks at watched files.
	tick func(time.Duration) <-chan time.Time
	// color is auto, always or never.
	color string
	// secrets are what out, err and all files are kept free of.
	secrets *secret.Redactor
}

func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "agentbench",
		Short: "Which agent loop, with which limits, gives the most quality per dollar and second?",
		Long: `agentbench runs agent loops that are declared in YAML, scores every run, compares
configurations by quality, cost and time, and recommends iteration limits.

Start with:  agentbench run quickstart`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if tell, _ := c.Flags().GetBool("version"); tell && len(args) == 0 {
				p.tellVersion()
				return nil
			}
			return unknownCommand(c, args)
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	p.colorFlags(root.PersistentFlags())
	root.Flags().Bool("version", false, "print the version")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddGroup(&cobra.Group{ID: "write", Title: "Write a suite:"},
		&cobra.Group{ID: "run", Title: "Run it:"}, &cobra.Group{ID: "look", Title: "Read and compare results:"})
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(p.initCommand(), p.checkCommand(), p.schemaCommand(), p.mockCommand(), p.planCommand(),
		p.runCommand(), p.scoreCommand(), p.importCommand(), p.mergeCommand(), p.reportCommand(), p.diffCommand(), p.viewCommand(), p.replayCommand(), p.tuneCommand(), p.calibrateCommand(), p.baselineCommand(), p.showCommand(), p.exportCommand(), p.repairCommand(), p.cacheCommand(), p.forwardCommand(),
		&cobra.Command{Use: "version", Short: "Print the version", Args: arguments(0, 0, "no arguments"), Run: func(*cobra.Command, []string) { p.tellVersion() }})
	for _, place := range p.places {
		root.AddCommand(place.Commands(&Host{p})...)
	}
	root.InitDefaultCompletionCmd()
	p.completeInBash(root)
	p.complete(root)
	return root
}

// elsewhere are the names that other tools have for our commands.
var elsewhere = map[string][]string{
	"run": {"eval", "evaluate", "test", "bench", "start", "exec"}, "report": {"summary", "results", "stats"}, "report --page report.html": {"html", "page"}, "view": {"dashboard", "ui", "browse"}, "diff": {"compare"},
	"tune": {"optimize", "optimise", "sweep", "search"}, "check": {"validate", "lint"}, "show": {"list", "ls", "inspect", "logs", "trace"}, "init": {"new", "create"},
	"repair": {"fix", "recover"}, "import": {"ingest", "load"}, "mock": {"serve", "server"}, "score": {"grade", "rescore"},
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
	if len(args) == 2 && slices.Contains(names, args[1]) {
		return exit.Usage(fmt.Sprintf("did you mean %s %s %s?", c.CommandPath(), args[1], exit.ShellWord(args[0])), "unknown command %q", args[0])
	}
	for name, others := range elsewhere {
		if slices.Contains(others, args[0]) {
			return exit.Usage("did you mean "+name+"?", "unknown command %q", args[0])
		}
	}
	return exit.Usage(exit.DidYouMean(args[0], names, "agentbench --help lists the commands"), "unknown command %q", args[0])
}

// kinds are what the flags of a type take.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a duration such as 30s",
}

// otherFlags are what other tools call flags, and how they are written here.
var otherFlags = map[string]string{
	"output": "out", "output-dir": "out", "json": "format json", "verbose": "all", "v": "all", "n": "trials N", "repeat": "trials N", "epochs": "trials N",
	"jobs": "concurrency N", "j": "concurrency N", "workers": "concurrency N", "parallel": "concurrency N", "max-concurrency": "concurrency N",
	"no-color": "color never", "sweep": "parameter PATH=VALUES",
	"model": "set agent.model=NAME", "filter": "task ID", "k": "task ID", "rerun-failed": "last-failed", "lf": "last-failed",
}

// wrongFlag explains a flag that is not there, or that cannot take its value.
func wrongFlag(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help lists the flags"
	var missing *pflag.NotExistError
	var value *pflag.InvalidValueError
	var refused *exit.Error
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bare) && bare.GetSpecifiedName() == "write":
		return exit.Usage(writeHint(c, ""), "--write: want FORMAT=FILE")
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &value) && kinds[value.GetFlag().Value.Type()] != "":
		if text := value.GetValue(); value.GetFlag().Value.Type() == "duration" && text != "" && strings.Trim(text, "0123456789.") == "" {
			help = fmt.Sprintf("write a unit: --%s %ss", value.GetFlag().Name, text)
		}
		return exit.Usage(help, "--%s %s: want %s", value.GetFlag().Name, value.GetValue(), kinds[value.GetFlag().Value.Type()])
	case !errors.As(err, &missing):
		return exit.Usage(help, "%v", err)
	}
	if here := otherFlags[missing.GetSpecifiedName()]; here != "" && c.Flags().Lookup(strings.Fields(here)[0]) != nil {
		return exit.Usage("write --"+here, "%v", err)
	} else if missing.GetSpecifiedName() == "dry-run" && c.Name() == "run" {
		return exit.Usage("agentbench plan SUITE shows what it would run and cost at most", "%v", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return exit.Usage(exit.DidYouMean("--"+missing.GetSpecifiedName(), names, help), "%v", err)
}

// arguments checks how many arguments a command gets; a negative most
// means any number.
func arguments(least, most int, want string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if out := c.Flags().Lookup("out"); out != nil && out.Value.String() == "ut" && len(args) > most {
			return exit.Usage("write --out "+exit.ShellWord(args[len(args)-1])+" or -o "+exit.ShellWord(args[len(args)-1]), "%s: -out is -o with the value ut", c.Name())
		}
		if len(args) < least || most >= 0 && len(args) > most {
			return exit.Usage(c.CommandPath()+" --help explains it", "%s: want %s, got %d", c.Name(), want, len(args))
		}
		return nil
	}
}

// helpCommand explains a command; unlike cobra's own it fails where there is
// none of that name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, _, err := root.Find(args)
			if err != nil || found == root && len(args) > 0 {
				return unknownCommand(root, args)
			}
			return found.Help()
		},
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
