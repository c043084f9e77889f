package command

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// Place is where the runs of a suite can be made other than in this process: run
// --executor names it. Another program than agentbench adds one, with the libraries that
// it takes.
type Place struct {
	Name string
	// Flags declares the flags of run that only this place has.
	Flags func(*pflag.FlagSet)
	// Open gives the executor of a suite. What is wrong with the place is its error,
	// before anything is run. The executor is closed after the last run.
	Open func(context.Context, *Submission) (PlacedExecutor, error)
	// Commands are those that the place adds, such as that of a worker.
	Commands func(*Host) []*cobra.Command
}

// PlacedExecutor is an executor that holds something as long as it is open.
type PlacedExecutor interface {
	engine.Executor
	// Begin is called once the result folder and its ledger are open, before Execute.
	Begin(context.Context) error
	io.Closer
}

// Submission is a suite whose runs are to be made at a place.
type Submission struct {
	Recipe Recipe
	// Folder is the suite's on disk; "": the suite ships with the program.
	Folder string
	// Repository says that a loop begins with a commit of a repository, which the folder may be.
	Repository bool
	// Reads are the files of tasks and of script models, as the suite names them: most are in the folder.
	Reads []string
	// Dir is the result folder, which is there once Begin is called.
	Dir string
	// Workers is how many runs may be in progress at a time, on all machines together.
	Workers int
	// Budget is the suite's. The place hands it over for as long as others draw on it.
	Budget *pace.Budget
	// Limits are those that models declare, by model; they hold for all machines together.
	Limits map[string]Limits
	// Duration is the suite's limit of time; 0: there is none.
	Duration time.Duration
	// Gates are those of models with limits, where scorers ask models: they ask from here.
	Gates map[string]*pace.Gate
	// States take those of the runs' workspaces, before a run is delivered; nil: no loop has one.
	States *workspace.Store
	// Started is told when an item is given away. Observe gets the events of its run, as far
	// as possible while it is in progress; nil: nobody wants them.
	Started func(plan.Item)
	Observe func(record.Event)
	// Warn prints a warning, Note a line of information.
	Warn, Note func(text string)
}

// Limits are how much a model may be asked.
type Limits struct {
	Requests int64 `json:"rpm,omitempty"`
	Tokens   int64 `json:"tpm,omitempty"`
	Parallel int   `json:"parallel,omitempty"`
}

// limited reports whether a model declares how much it may be asked.
func limited(m *spec.Model) bool { return m.RPM > 0 || m.TPM > 0 || m.MaxParallel > 0 }

// Recipe is what a worker makes the loops of a suite of, beside the suite's files. It
// holds no secret that the command line did not.
type Recipe struct {
	Agentbench     string         `json:"agentbench"` // the version
	Suite          string         `json:"suite"`      // its file in the folder, or the suite that ships
	Shipped        bool           `json:"shipped,omitempty"`
	Set            []spec.Setting `json:"set,omitempty"`
	Seed           int64          `json:"seed"`
	Configurations []string       `json:"configurations"`
	Cache          cache.Mode     `json:"cache"`
	SpecHash       string         `json:"spec_hash"`
}

// here is the executor that is this process.
const here = "local"

// placeFlags say where the runs are made.
type placeFlags struct{ executor string }

func (f *placeFlags) declare(c *cobra.Command, places []Place) {
	if len(places) == 0 {
		return
	}
	names := []string{here}
	for _, place := range places {
		names = append(names, place.Name)
		place.Flags(c.Flags())
	}
	f.executor = names[0]
	choiceFlag(c, &f.executor, "executor", names, "where the runs are made: local is in this process")
}

// goElsewhere gives a job the executor that the flags name; without one its runs are made here.
func (p *program) goElsewhere(ctx context.Context, j *job) error {
	at := slices.IndexFunc(p.places, func(place Place) bool { return place.Name == j.flags.executor })
	if at < 0 {
		return nil
	}
	s, err := p.submission(j)
	if err != nil {
		return err
	}
	placed, err := p.places[at].Open(ctx, s)
	if err != nil {
		return err
	}
	j.engine.Executor, j.placed = placed, placed
	return nil
}

func (p *program) submission(j *job) (*Submission, error) {
	if j.path == "-" {
		return nil, exit.Usage("write it to a file", "--executor %s: a suite from stdin has no folder that workers could get", j.flags.executor)
	}
	manifest, err := p.writer().Manifest(j.Document, j.plan)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	dir, err := filepath.Abs(j.dir)
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	states, err := j.parts.States()
	if err != nil {
		return nil, exit.Unmeasured(err)
	}
	fromRepository := func(l *spec.Loop) bool {
		return l.Workspace != nil && l.Workspace.From != nil && l.Workspace.From.Git != nil
	}
	s := &Submission{
		Dir: dir, States: states, Repository: slices.ContainsFunc(j.Loops(), fromRepository), Workers: workers(j.Suite), Budget: j.budget, Limits: map[string]Limits{}, Duration: j.Suite.Budget.Duration,
		Started: j.tally.Started,
		Warn:    func(text string) { fmt.Fprintf(p.err, "agentbench: warning: %s\n", page.Visible(text)) },
		Note: func(text string) {
			if !j.flags.quiet {
				fmt.Fprintln(p.err, page.Visible(text))
			}
		},
		Recipe: Recipe{
			Agentbench: version(), Suite: j.path, Shipped: j.Dir() == "", Set: j.flags.set, Seed: j.Suite.Seed, Cache: j.flags.mode, SpecHash: manifest.SpecHash,
		},
	}
	for i := range j.plan.Configurations {
		c := &j.plan.Configurations[i]
		s.Recipe.Configurations = append(s.Recipe.Configurations, c.Name)
	}
	if j.flags.events != "" { // which are opened later
		s.Observe = func(e record.Event) { j.engine.Observe(e) }
	}
	if len(plan.AskingOf(j.Suite)) > 0 {
		s.Gates = j.named
	}
	for i := range j.Suite.Models {
		m := &j.Suite.Models[i].Value
		if limited(m) {
			s.Limits[j.Suite.Models[i].Key] = Limits{m.RPM, m.TPM, m.MaxParallel}
		}
	}
	for _, file := range manifest.Data {
		s.Reads = append(s.Reads, path.Clean(filepath.ToSlash(file.Name)))
	}
	if !s.Recipe.Shipped {
		if s.Folder, err = filepath.Abs(j.Dir()); err != nil {
			return nil, exit.Unmeasured(err)
		}
		s.Recipe.Suite = filepath.Base(j.Files[0].Name)
	}
	return s, nil
}

// Host is what commands of a place work with.
type Host struct{ program *program }

// Errors is where everything goes that is no result, without secrets.
func (h *Host) Errors() io.Writer { return h.program.err }

// Version is that of agentbench.
func (h *Host) Version() string { return version() }

// Prepared is a suite whose runs are made one by one, as others ask for them.
type Prepared struct {
	budget  *pace.Budget
	gates   map[string]*pace.Gate
	run     map[string]runner // by configuration
	tasks   map[string]*spec.Task
	states  *workspace.Store
	shared  engine.Shared
	traced  context.Context
	endings []func()
	host    *Host
}

// Folders are where a worker keeps what it needs for a suite.
type Folders struct {
	Suite      string // its files, as they were sent
	Workspaces string
	Cache      string
}

// WrongSuite means that a suite is another one on this machine.
type WrongSuite struct{ Here, There string }

func (e *WrongSuite) Error() string {
	return fmt.Sprintf("the suite is another one on this machine (%s, not %s): environment variables that it reads, files below its roots, or programs differ", e.Here, e.There)
}

// Prepare makes the loops of a suite.
func (h *Host) Prepare(ctx context.Context, r *Recipe, at Folders) (*Prepared, error) {
	p := *h.program
	path := r.Suite
	if !r.Shipped {
		path = filepath.Join(at.Suite, r.Suite)
	}
	o, err := p.openSuite(path, r.Set)
	if err != nil {
		return nil, err
	}
	o.Suite.Seed = r.Seed
	planned, err := plan.New(o.Suite, -1, plan.Selection{Configurations: r.Configurations})
	if err != nil {
		return nil, err
	}
	manifest, err := p.writer().Manifest(o.Document, planned)
	if err != nil {
		return nil, err
	}
	if manifest.SpecHash != r.SpecHash {
		return nil, &WrongSuite{Here: manifest.SpecHash, There: r.SpecHash}
	}
	if err := p.startable(ctx, o); err != nil {
		return nil, err
	}
	s := &Prepared{budget: pace.OfSuite(o.Suite.Budget), gates: map[string]*pace.Gate{}, run: map[string]runner{}, tasks: map[string]*spec.Task{}, host: h}
	if err := s.make(&p, o, planned, r, at); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Prepared) make(p *program, o *opened, planned *plan.Plan, r *Recipe, at Folders) error {
	parts, err := engine.NewParts(o.Document, engine.BuildOptions{
		Workspaces: at.Workspaces, Getenv: p.env, Budget: s.budget, Cache: p.cacheAt(at.Cache), CacheMode: r.Cache, Shared: &s.shared,
		Gate: func(model string, g *pace.Gate) {
			if m, _ := o.Suite.Models.Get(model); limited(&m) {
				g.Share(pace.Share{})
				s.gates[model] = g
			}
		},
	})
	if err != nil {
		return err
	}
	loops, err := parts.Loops(planned.Configurations)
	if err != nil {
		return err
	}
	if s.states, err = parts.States(); err != nil {
		return err
	}
	for i := range loops {
		s.run[planned.Configurations[i].Name] = func(ctx context.Context, item plan.Item, observe func(record.Event)) *record.Run {
			return engine.RunItem(ctx, loops[i], item, observe, p.now)
		}
	}
	for task, err := range o.Tasks() {
		if err != nil {
			return err
		}
		s.tasks[task.ID] = task
	}
	traced, end := p.trace(context.Background(), o.Suite)
	s.traced, s.endings = traced, append(s.endings, end)
	return nil
}

// runner makes runs of a configuration. Observe may be nil.
type runner func(ctx context.Context, item plan.Item, observe func(record.Event)) *record.Run

// Run makes one run, whose events it tells as they happen; nil: nobody wants them. It fails
// where the suite has no such task or configuration.
func (s *Prepared) Run(ctx context.Context, configuration, task string, trial int, observe func(record.Event)) (*record.Run, error) {
	run, known := s.run[configuration]
	of, also := s.tasks[task]
	if !known || !also {
		return nil, fmt.Errorf("the suite has no task %q or no configuration %q", task, configuration)
	}
	traced, cancel := context.WithCancelCause(trace.Within(s.traced, trace.Parent(ctx)))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	return run(traced, plan.Item{ID: record.RunID(configuration, task, trial), Task: of, Trial: trial}, observe), nil
}

// Draws are the budget that the runs spend, which is to be borrowed, and the gates of the models that
// declare limits. Those are closed until they have a share.
func (s *Prepared) Draws() (*pace.Budget, map[string]*pace.Gate) { return s.budget, s.gates }

// States are those of the runs' workspaces; nil: no loop has one.
func (s *Prepared) States() *workspace.Store { return s.states }

// Span is that of a run that was made, for others to refer to; "": it is not traced.
func (s *Prepared) Span(id string) string { return trace.SpanOf(s.traced, id) }

// Line is an event as --events writes it, without secrets.
func (s *Prepared) Line(event record.Event) ([]byte, error) {
	line, err := jsonLine(event)
	return s.host.program.secrets.Redact(line), err
}

// Encode is a run as a line without secrets; see [record.DecodeRun].
func (s *Prepared) Encode(run *record.Run) ([]byte, error) {
	return record.EncodeRun(run, s.host.program.recording())
}

// Close ends what the runs shared.
func (s *Prepared) Close() {
	s.shared.Close()
	for _, end := range s.endings {
		end()
	}
}

// closePlace closes the executor of a place.
func (j *job) closePlace() error {
	if j.placed == nil {
		return nil
	}
	return j.placed.Close()
}
