package spec

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Import is a mapping: how the log of another tool becomes records. Its
// expressions are CEL over doc, row, file and line, those of iterations also
// over it, i and after.
type Import struct {
	Name string `yaml:"import" need:"required" minlen:"1" doc:"The mapping's name."`
	Zip  *Zip   `yaml:"zip" doc:"Which members of a zip file are rows."`
	Each *Expr  `yaml:"each" want:"list" doc:"CEL giving the list of rows of a file (default: the items of a list, or a row a line). doc, doc.NAME and doc.map(key, doc[key]) are read row by row."`

	// Run groups rows: those of a file for which it gives the same value are one run.
	// Beside are files that belong to a file of the log.
	Beside    *Beside            `yaml:"beside" with:"run" doc:"Files that are read together with each file: FOLDER/NAME.jsonl with those below FOLDER/NAME. Their rows are rows of that file; it needs run."`
	Run       *Expr              `yaml:"run" doc:"CEL: the rows of a file with the same value are one run, and row is the list of them (run: file makes a run of a whole file); null: a row that belongs to no run."`
	Recognize source.Named[Expr] `yaml:"recognize" doc:"What identifies the format, in words, and CEL boolean over doc, one of the first documents of a file. Mappings that ship are found by it."`
	Refuse    *Expr              `yaml:"refuse" doc:"CEL text: why a row cannot be read; null: it can."`
	Warn      *Expr              `yaml:"warn" doc:"CEL list of texts: what is wrong with a row that is read all the same."`
	Session   *Expr              `yaml:"session" doc:"CEL: what identifies a run in its log. A second run with the same value is left out; null: unknown."`

	Configuration *Expr              `yaml:"configuration" doc:"CEL text: what the runs are compared by (default: the mapping's name)."`
	Task          *Expr              `yaml:"task" doc:"CEL: the task's id, text or a whole number (default: FILE:LINE)."`
	Trial         *Expr              `yaml:"trial" doc:"CEL: a whole number from 1 (default: counted)."`
	Cluster       *Expr              `yaml:"cluster" doc:"CEL: the group that the task is of, text, a number or a truth; null: the task is a cluster of its own."`
	Group         *Expr              `yaml:"group" doc:"CEL: the group of tasks for which metrics are also reported, text, a number or a truth; null: none."`
	Input         *Expr              `yaml:"input" doc:"CEL."`
	Target        *Expr              `yaml:"target" doc:"CEL; what a right answer is judged against."`
	Vars          source.Named[Expr] `yaml:"vars"`
	Metadata      source.Named[Expr] `yaml:"metadata"`

	Started *Expr `yaml:"started" doc:"CEL timestamp, or text of one: when the run began; null: unknown."`
	Elapsed *Expr `yaml:"elapsed" doc:"CEL: how long the whole run took, seconds or a CEL duration (default: until the end of the last iteration)."`
	Extra   *Expr `yaml:"extra" doc:"CEL object: what else the log has of the run. The record keeps it as extra."`

	Iterations ImportedIterations `yaml:"iterations" want:"-" need:"required" doc:"Where the iterations of a run are, and what each was."`

	Scores  *ImportedScores `yaml:"scores" doc:"The run's scores: name and CEL, or CEL giving an object. A number or a truth; null is unscored."`
	Metrics []Metric        `yaml:"metrics" minlen:"1" doc:"Numbers over many runs, such as pass^k of a score."`
	Success *Expr           `yaml:"success" doc:"CEL boolean: whether the run was a success by the loop's verdict (default: as a loop would decide)."`
	Ended   *Expr           `yaml:"ended" doc:"CEL boolean: the agent ended the run by itself (default: false, something cut it)."`
	GaveUp  *Expr           `yaml:"gave_up" doc:"CEL boolean: the agent gave up: it ended the run, and the best iteration counts, not the last (default: false)."`
	Stop    *Expr           `yaml:"stop" doc:"CEL text: the stop reason, one of agentbench's."`
	Fault   *Expr           `yaml:"fault" doc:"CEL: the error class of a run that failed by no fault of the agent; null: it did not."`

	Usage   *ImportedUsage `yaml:"usage" doc:"The whole run's, where the log does not tell it by iteration."`
	CostUSD *Expr          `yaml:"cost_usd" doc:"The whole run's, where the log does not tell it by iteration."`

	RecordedUnder   *RecordedUnder         `yaml:"recorded_under" doc:"The limits under which the log was made, or CEL giving an object of them for each run; null: unknown."`
	WhenCut         *WhenCut               `yaml:"when_cut" doc:"What a run is worth that is stopped before its recorded end: 0, or score (that of the iteration)."`
	Announced       []string               `yaml:"announced" doc:"Paths of the parameters that the agent knew, such as terminate.max_iterations."`
	UnknownCostZero bool                   `yaml:"unknown_cost_zero" doc:"A cost of 0 means that it is unknown."`
	Cumulative      source.Named[Counting] `yaml:"cumulative" doc:"Counters that add up: cost_usd: run or file. One that falls was restarted."`

	// Tree is the text it was decoded from.
	Tree *source.Node `yaml:",here"`
}

// Beside are the files in the folder that has the name of a file without its extension, whose rows belong to that file.
type Beside struct {
	Files string `yaml:"files" need:"required" minlen:"1" doc:"A pattern below that folder: subagents/*.jsonl."`
	Order *Expr  `yaml:"order" need:"required" doc:"CEL text by which the rows of all of these files are put in order, such as their time."`

	Node *source.Node `yaml:",here"`
}

// Zip says which members of a zip file are read.
type Zip struct {
	Rows string   `yaml:"rows" need:"required" minlen:"1" doc:"A pattern: samples/*.json. Each is a row."`
	Doc  []string `yaml:"doc" single:"allowed" doc:"The member that is doc, or a list, of which it is the first that is there."`

	Node *source.Node `yaml:",here"`
}

// ImportedIterations are the iterations of a run.
type ImportedIterations struct {
	Of    *Expr `yaml:"of" want:"-" need:"required" doc:"CEL list: the entries that iterations begin with, or all entries where begin selects them."`
	Begin *Expr `yaml:"begin" doc:"CEL boolean: an iteration begins with this entry; the entries after it, up to the next that begins one, are after."`

	ID *Expr `yaml:"id" without:"begin" doc:"CEL, in place of begin: entries with the same value are one iteration, which begins with the first; null: an entry of the iteration before it."`

	Output       *Expr           `yaml:"output" doc:"CEL."`
	Confidence   *Expr           `yaml:"confidence" doc:"CEL number; null: not evaluated."`
	Passed       *Expr           `yaml:"passed" doc:"CEL boolean: the evaluation ended the run."`
	Feedback     *Expr           `yaml:"feedback" doc:"CEL text."`
	Thinking     *Expr           `yaml:"thinking" doc:"CEL text: what the model thought."`
	ToolCalls    *Expr           `yaml:"tool_calls" doc:"CEL list of {name, arguments, id}, the id optional; null: none."`
	Observations *Expr           `yaml:"observations" with:"tool_calls" doc:"CEL list: the results of the tool calls, in their order, or {call_id, result}, in any order."`
	Extra        *Expr           `yaml:"extra" doc:"CEL object: what else the log has of the iteration. The record keeps it as extra."`
	Error        *Expr           `yaml:"error" doc:"CEL: an error class, or {class, message}; null: none."`
	Usage        *ImportedUsage  `yaml:"usage" doc:"What the iteration used; absent: unknown."`
	Model        *Expr           `yaml:"model" doc:"CEL text: the model that was called, for --prices (default: the configuration)."`
	CostUSD      *Expr           `yaml:"cost_usd" doc:"CEL number; null: unknown."`
	Duration     *Expr           `yaml:"duration" doc:"CEL: how long it took, seconds or a CEL duration."`
	At           *Expr           `yaml:"at" without:"duration elapsed" doc:"CEL timestamp, or text of one: when it ended. It needs started."`
	Elapsed      *Expr           `yaml:"elapsed" without:"duration" doc:"CEL: from the start of the run to its end, seconds or a CEL duration."`
	Scores       *ImportedScores `yaml:"scores" doc:"The iteration's scores: name and CEL, or CEL giving an object."`

	Node *source.Node `yaml:",here"`
}

// ImportedUsage is what calls used: CEL numbers, null where nobody knows.
type ImportedUsage struct {
	InputTokens        *Expr `yaml:"input_tokens"`
	OutputTokens       *Expr `yaml:"output_tokens"`
	CachedTokens       *Expr `yaml:"cached_tokens" doc:"Part of input_tokens."`
	CacheWriteTokens   *Expr `yaml:"cache_write_tokens" doc:"Part of input_tokens: written into the provider's cache for its usual time."`
	CacheWrite1hTokens *Expr `yaml:"cache_write_1h_tokens" doc:"Part of input_tokens: written into the provider's cache for an hour."`
	ReasoningTokens    *Expr `yaml:"reasoning_tokens" doc:"Part of output_tokens."`
	TotalTokens        *Expr `yaml:"total_tokens" doc:"Input and output: what is beyond both is reasoning that is counted beside output_tokens."`
	Calls              *Expr `yaml:"calls" doc:"How many model calls (default 1 an iteration)."`

	Node *source.Node `yaml:",here"`
}

// RecordedUnder are the limits under which runs were made: the same for all, or an
// expression that gives those of each.
type RecordedUnder struct {
	Limits `yaml:",inline"`
	Each   *Expr `short:"text"`
}

// Limits is the part of a loop that says when runs were ended.
type Limits struct {
	Terminate *source.Node `yaml:"terminate" doc:"As in a loop."`
	Guards    *source.Node `yaml:"guards" doc:"As in a loop; absolute_max_iterations is off unless it is written here."`
}

// ImportedScores are named expressions, or one that gives an object.
type ImportedScores struct {
	Named  source.Named[Expr]
	Object *Expr
}

// DecodeNode takes a mapping, or an expression.
func (s *ImportedScores) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.Map {
		d.Decode(n, &s.Named)
		return
	}
	s.Object = &Expr{}
	d.Decode(n, s.Object)
}

func (s *ImportedScores) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{g.Of(&s.Named), g.Of(&Expr{})}}
}

// WhenCut says what a run is worth that is stopped before its recorded end.
type WhenCut struct {
	// Zero: nothing, because only what was finished is scored. Otherwise it is
	// worth the score of the iteration at which it stops.
	Zero bool
	Node *source.Node
}

// DecodeNode takes 0 or score.
func (w *WhenCut) DecodeNode(n *source.Node, d *source.Decoder) {
	w.Node, w.Zero = n, n.Text == "0"
	if n.Text != "0" && n.Text != "score" {
		d.Fault(n, "0: only finished runs are scored; score: the iteration's own counts", "want 0 or score")
	}
}

func (w *WhenCut) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"enum": []any{0, "score"}}
}

// Counting says from where a counter counts on.
type Counting string

// The beginnings of counters.
const (
	CountsRun  Counting = "run"  // from the start of the run
	CountsFile Counting = "file" // from the start of the file, or of the process that wrote it
)

// Words are the beginnings, for the decoder and the schema.
func (Counting) Words() []string { return []string{string(CountsRun), string(CountsFile)} }

// Instead says what the words mean.
func (Counting) Instead(string) string {
	return "run: it counts from the start of the run; file: from the start of the file"
}

// Counters are what may be declared cumulative.
var Counters = []string{"cost_usd", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens", "total_tokens", "calls"}

// Evaluates reports whether the log has evaluations of iterations.
func (m *Import) Evaluates() bool {
	return m.Iterations.Confidence != nil || m.Iterations.Passed != nil
}

// LoopUnder is the loop that stands for the agent of a log: nothing of it can be run,
// but its conditions and guards, under which the log was made, can be replayed.
// The model has the name of the configuration. Limits are nil where none are known.
func (m *Import) LoopUnder(configuration string, limits *Limits) (*Loop, error) {
	l := newLoader(&Document{})
	loop := m.loop(l, configuration, limits)
	if loop == nil {
		return nil, fmt.Errorf("the loop of %q: %w", configuration, l.faults.Err())
	}
	return loop, nil
}

// LimitsOf reads limits that an expression gave as a plain value: an object with
// terminate and guards.
func (m *Import) LimitsOf(plain any) (*Limits, error) {
	limits := &Limits{}
	if faults := source.Decode(source.New(m.RecordedUnder.Each.Node, plain), limits); len(faults) > 0 {
		return nil, fmt.Errorf("recorded_under: %w", faults.Err())
	}
	return limits, nil
}

// Hash identifies what the loop does, as [Resolved.Hash] does.
func (l *Loop) Hash() string { return l.hash }

func (m *Import) loop(l *loader, configuration string, limits *Limits) *Loop {
	return l.instance(&loopFile{name: configuration, tree: m.loopTree(configuration, limits)}, nil)
}

const recordedRubric = "what was in the log"

func (m *Import) loopTree(configuration string, limits *Limits) *source.Node {
	object := source.ObjectOf
	tree := source.New(m.Tree, object(
		"loop", m.Name,
		"agent", object("model", configuration, "reply", "json"),
		"prompt", "{{ task.input }}",
		"on_error", object("continue_if", "true")))
	if m.Evaluates() {
		evaluate := object("judge", object("model", configuration, "rubric", recordedRubric), "confidence", "double(judge.confidence)")
		if m.Iterations.Passed != nil {
			evaluate.Set("passed", "bool(judge.passed)")
		}
		tree.Set("evaluate", source.New(m.Tree, evaluate))
	}
	guards := source.New(m.Tree, object("absolute_max_iterations", "off"))
	if r := limits; r != nil {
		if r.Terminate != nil {
			tree.Set("terminate", r.Terminate.Clone())
		}
		if r.Guards != nil {
			for _, entry := range r.Guards.Clone().Entries {
				guards.Set(entry.Key, entry.Value)
			}
		}
	}
	tree.Set("guards", guards)
	return tree
}

// ScoreWhenCut decides what a run is worth that is stopped before its recorded end, 0 or score, in the place of what the
// mapping says.
func (m *Import) ScoreWhenCut(by string) error {
	if by == "score" && m.Iterations.Scores == nil {
		return errors.New("the mapping has no scores of iterations, and so none of a run that is cut")
	}
	node := source.New(m.Tree, by)
	m.Tree.Set("when_cut", node)
	m.WhenCut = &WhenCut{Zero: by == "0", Node: node}
	return nil
}

// importing loads a mapping.
func (l *loader) importing(tree *source.Node) {
	m := &Import{}
	before := l.unread
	l.add(l.decoder.Whole(tree, m)...)
	understood := l.unread == before && !l.broken[tree.File]
	m.Tree = tree
	l.doc.Import = m
	l.compileImport(m)
	l.checkImport(m)
	if understood {
		l.checkImportedMetrics(m)
		l.checkRecordedUnder(m)
	}
}

func (l *loader) compileImport(m *Import) {
	run, iteration := compiler{l, expr.Mapping(), nil}, compiler{l, expr.MappingIteration(), nil}
	run.all(m)
	run.expr(m.Iterations.Of, expr.WantList)
	iteration.all(&m.Iterations)
}

// checkImport finds what does not go together.
func (l *loader) checkImport(m *Import) {
	its := &m.Iterations
	if its.At != nil && m.Started == nil {
		l.fault(its.At.Node, "at counts from started", "\"at\" needs started")
	}
	if its.Of != nil && its.Begin == nil && its.ID == nil && its.readsAfter() {
		l.fault(its.Of.Node, "say with begin which entries begin an iteration", "this reads after, but every entry is an iteration")
	}
	if w := m.WhenCut; w != nil && w.Node.Text == "score" && its.Scores == nil && its.Node != nil {
		l.fault(w.Node, "declare iterations.scores, or write when_cut: 0", "a cut run is to be worth the score of an iteration, but iterations have none")
	}
	for _, counter := range m.Cumulative {
		if !slices.Contains(Counters, counter.Key) {
			l.add(m.Tree.Get("cumulative").KeyFault(counter.Key, didYouMean(counter.Key, Counters), "unknown counter %q", counter.Key))
		}
	}
	if m.Beside != nil {
		if _, err := path.Match(m.Beside.Files, ""); err != nil {
			l.fault(m.Beside.Node.Get("files"), "", "invalid file pattern %q", m.Beside.Files)
		}
	}
	if m.Zip != nil {
		if _, err := path.Match(m.Zip.Rows, ""); err != nil {
			l.fault(m.Zip.Node.Get("rows"), "", "invalid file pattern %q", m.Zip.Rows)
		}
	}
}

func (its *ImportedIterations) readsAfter() bool {
	return slices.ContainsFunc(expressionsOf(its), func(e wantedExpr) bool { return e.reads("after") })
}

// checkRecordedUnder makes the loop that the limits belong to, which finds what is wrong with them.
func (l *loader) checkRecordedUnder(m *Import) {
	limits := &Limits{}
	if m.RecordedUnder != nil {
		limits = &m.RecordedUnder.Limits
	}
	loop := m.loop(l, m.Name, limits)
	made := func(f source.Fault) bool { return f.Warning && f.Pos == m.Tree.Pos } // of what nobody wrote
	l.faults = slices.DeleteFunc(l.faults, made)
	for i, told := range m.Announced {
		if hint, ok := isLimit(loop, told); !ok {
			l.fault(m.Tree.Get("announced").Items[i], hint, "unknown limit %q", told)
		}
	}
}

// isLimit reports whether a loop could have a limit of that path: one that none has would never be found to differ, and
// what was announced would be taken for what was not.
func isLimit(loop *Loop, path string) (hint string, ok bool) {
	section, _, below := strings.Cut(path, ".")
	if !slices.Contains([]string{"terminate", "guards", "max_iterations"}, section) {
		return "for instance terminate.max_iterations", false
	}
	if loop == nil || !below {
		return "", true
	}
	faults := tryOn(loop.Tree, Assignment{Path: path, At: loop.Tree.Pos, Value: source.New(loop.Tree, "off")})
	for _, f := range faults {
		if strings.HasPrefix(f.What, "unknown key") || strings.HasPrefix(f.What, "unknown condition") {
			return f.Hint, false
		}
	}
	return "", true
}
