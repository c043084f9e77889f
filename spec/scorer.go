package spec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Scorer judges a run after the loop, with the target.
type Scorer struct {
	Name    string     `yaml:"name" need:"required" minlen:"1"`
	Type    ScorerType `yaml:"type" need:"required" also:"kind metric scorer"`
	Value   *Expr      `yaml:"value" doc:"CEL: what is judged (default output)."`
	Target  *Expr      `yaml:"target" without:"tools options" doc:"CEL: what it is judged against (default target)." also:"expected answer"`
	Extract *Extract   `yaml:"extract" doc:"A regular expression (its first group) applied to the value, or {expr: CEL}."`
	Not     bool       `yaml:"not" doc:"Turn a score v into 1 - v."`
	Weight  *float64   `yaml:"weight" above:"0" max:"1000000" doc:"What it counts among the parts of an all_of (default 1)."`
	Range   []float64  `yaml:"range" minlen:"2" without:"choices at_most" doc:"[a, b]: a number of a is worth 0 and one of b 1, what lies between them in proportion. a may be the larger one."`
	Score   string     `yaml:"score" enum:"returned|every_iteration|when_asked" doc:"What is judged: the output that a run returns, every iteration's, or, besides the one that is returned, those that a replay asks for. Default: every_iteration; of scorers that ask others (command, http, judge) returned."`
	At      string     `yaml:"at" enum:"step" doc:"step: run also scores what a workspace holds whenever a model call of its program arrives (workspace: {snapshot: step}), as agentbench score --at step does."`

	Expr       *Expr    `yaml:"expr" doc:"cel: a boolean or a number. json_path: a value of json, or a boolean. tool_args: a boolean over call."`
	Pattern    string   `yaml:"pattern" doc:"regex: the expression (RE2)."`
	Tolerance  *float64 `yaml:"tolerance" min:"0" doc:"numeric, math: the largest absolute difference (default 0)."`
	Relative   *float64 `yaml:"relative" min:"0" doc:"numeric: the largest difference as a share of the target."`
	Options    []any    `yaml:"options" minlen:"1" doc:"one_of: the answers allowed. contains_all, contains_any, starts_with, finish_reason: the texts looked for. Default: the target, a list."`
	IgnoreCase bool     `yaml:"ignore_case" without:"normalize" doc:"exact, contains, contains_all, contains_any, starts_with, one_of, regex, similarity." also:"case_sensitive"`
	Trim       *bool    `yaml:"trim" without:"normalize" doc:"exact, one_of: ignore white space at the ends (default true)."`
	Normalize  string   `yaml:"normalize" enum:"squad" doc:"exact: compare without letter case, punctuation and articles, as SQuAD does."`
	Method     string   `yaml:"method" enum:"levenshtein|jaro_winkler" doc:"similarity (default levenshtein)."`
	Dialect    string   `yaml:"dialect" enum:"sqlite" hint:"is_sql reads SQLite's grammar; ask another server by its own client (type: command): see docs/program-scorers.md" doc:"is_sql: whose grammar it is (default sqlite)."`
	Variant    string   `yaml:"variant" enum:"rouge_1|rouge_2|rouge_l" doc:"rouge (default rouge_l)."`
	Measure    string   `yaml:"measure" enum:"f1|precision|recall" doc:"f1, rouge (default f1)."`
	Schema     JSON     `yaml:"schema" doc:"json_schema: the schema."`
	SchemaFile string   `yaml:"schema_file" without:"schema" doc:"json_schema: a file that holds it."`
	Check      string   `yaml:"check" doc:"checks: only this one (default: the weighted share of all)."`

	Tools     []string `yaml:"tools" minlen:"1" doc:"tools_called, tools_not_called, tool_order: which (default: the target, a list). tool_args, tool_call_count, no_repeated_calls: only calls of these (default: of all)."`
	Exactly   bool     `yaml:"exactly" doc:"tool_order: these calls and no others."`
	Every     bool     `yaml:"every" doc:"tool_args: the share of the calls for which it holds (default: whether it holds for one)."`
	Min       *int     `yaml:"min" min:"0" doc:"tool_call_count, steps, word_count."`
	Max       *int     `yaml:"max" min:"0" doc:"tool_call_count, steps, word_count."`
	Equals    *int     `yaml:"equals" min:"0" without:"min max" doc:"tool_call_count, steps, word_count."`
	AtMost    *float64 `yaml:"at_most" min:"0" doc:"latency (s), cost (USD), tokens, iterations, calls: up to this the score is 1, beyond it 0."`
	Delegates bool     `yaml:"delegates" doc:"Scorers of tool calls and steps: those of delegates count, too."`

	Parts     []ScorerPart `yaml:"scorers" minlen:"1" doc:"all_of, any_of: names of scorers of the suite, or scorers."`
	Threshold *float64     `yaml:"threshold" above:"0" max:"1" doc:"all_of, any_of: at or above this the score is 1, below 0 (default: the score of all_of is the weighted mean of its parts, that of any_of the highest)."`

	Command []string      `yaml:"command" minlen:"1" doc:"command: a program that reads the run as JSON and writes its score as JSON. test: what runs the tests; exit code 0 is passed."`
	Overlay *Expr         `yaml:"overlay" doc:"command, test: CEL, a map of paths to contents that are laid over the copy of the workspace, such as hidden tests."`
	Share   bool          `yaml:"share" doc:"test: the score is the share of the tests that pass (default: 1 where all pass, else 0)."`
	URL     string        `yaml:"url" minlen:"1" doc:"http: an endpoint that is sent the run as JSON and answers with its score as JSON."`
	Headers Headers       `yaml:"headers" doc:"http."`
	Timeout time.Duration `yaml:"timeout" above:"0" doc:"command, http, judge, pairwise: of one call (default 60s). test: default 10m."`

	Model           string                `yaml:"model" doc:"judge, pairwise: a name under models."`
	Models          []string              `yaml:"models" minlen:"1" without:"model" doc:"judge, pairwise: a panel, names under models."`
	Votes           int                   `yaml:"votes" min:"1" max:"1000" doc:"judge, pairwise: how often each model is asked (default 1)."`
	Reduce          string                `yaml:"reduce" enum:"mean|median|majority" doc:"judge, pairwise: what the votes make together (default mean)."`
	Rubric          *Prompt               `yaml:"rubric" doc:"judge, pairwise: {{ }} holds CEL over task and target. The task's input and the output are always shown." also:"prompt criteria_prompt"`
	Criteria        []Criterion           `yaml:"criteria" minlen:"1" without:"rubric" doc:"judge: what is asked one by one, each in a call of its own; the score is their weighted mean."`
	Choices         source.Named[float64] `yaml:"choices" minlen:"2" doc:"judge: the words that it answers with, and what each is worth (default: a number of the range)."`
	Reference       bool                  `yaml:"reference" doc:"judge, pairwise: the judge is shown the target."`
	Against         string                `yaml:"against" minlen:"1" doc:"pairwise: the configuration whose output it is compared with (default: the baseline)."`
	Temperature     *float64              `yaml:"temperature" min:"0" max:"2" doc:"judge, pairwise."`
	MaxOutputTokens int                   `yaml:"max_output_tokens" min:"1" max:"10000000" doc:"judge, pairwise."`

	Node *source.Node `yaml:",here"`
	hash string       // once the suite is loaded
}

// ScorerType is the type of a scorer: that of a row of the table of kinds.
type ScorerType string

// Words are the types, for the decoder and the schema.
func (ScorerType) Words() (words []string) {
	for _, kind := range scorerKinds {
		words = append(words, string(kind.Type))
	}
	return words
}

// Instead says which type other tools call by a word; "": none.
func (ScorerType) Instead(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	for _, kind := range scorerKinds {
		if slices.Contains(strings.Fields(kind.also), word) {
			return "write type: " + string(kind.Type)
		}
	}
	return ""
}

// ScorerKind is what is known of all scorers of a type.
type ScorerKind struct {
	Type ScorerType
	// Target: it compares with a target, and cannot judge without one.
	Target bool
	// Answer: it judges the answer. What is false here looks for itself.
	Answer bool
	// Course: it judges what was done up to an iteration, and not its output.
	Course bool
	// Asks: it asks others: models, programs, endpoints.
	Asks bool
	// Pairs: it judges a run beside another one, for which both have to be there.
	Pairs bool

	also  string                 // what other tools call it
	keys  string                 // those that not every type has
	needs string                 // the key that it cannot do without; "": none, or check knows
	check func(*loader, *Scorer) // what else has to be right
}

// Kind is the row of the scorer's type; it is zero where there is no such type.
func (s *Scorer) Kind() ScorerKind {
	for _, kind := range scorerKinds {
		if kind.Type == s.Type {
			return kind
		}
	}
	return ScorerKind{}
}

// scorerKinds has a row for each type of scorer; package scorers has how they judge.
var scorerKinds = []ScorerKind{
	{Type: "exact", also: "equals equal match exact_match accuracy", Target: true, Answer: true, keys: "value extract target ignore_case trim normalize"},
	{Type: "contains", also: "icontains includes", Target: true, Answer: true, keys: "value extract target ignore_case"},
	{Type: "contains_all", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "contains_any", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "starts_with", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "regex", Answer: true, keys: "value extract pattern ignore_case", needs: "pattern"},
	{Type: "numeric", Target: true, Answer: true, keys: "value extract target tolerance relative"},
	{Type: "math", Target: true, Answer: true, keys: "value extract target tolerance"},
	{Type: "one_of", Target: true, Answer: true, keys: "value extract target options ignore_case trim"},
	{Type: "word_count", Answer: true, keys: "value extract min max equals", check: (*loader).checkBounds},
	{Type: "similarity", also: "levenshtein cosine similar fuzzy", Target: true, Answer: true, keys: "value extract target ignore_case method"},
	{Type: "f1", Target: true, Answer: true, keys: "value extract target measure"},
	{Type: "rouge", Target: true, Answer: true, keys: "value extract target variant measure"},
	{Type: "bleu", Target: true, Answer: true, keys: "value extract target"},
	{Type: "json_equal", Target: true, Answer: true, keys: "value extract target"},
	{Type: "json_schema", Answer: true, keys: "value extract schema schema_file", check: (*loader).checkSchema},
	{Type: "json_path", Answer: true, keys: "value extract target expr", needs: "expr"},
	{Type: "is_json", Answer: true, keys: "value extract"},
	{Type: "is_xml", Answer: true, keys: "value extract"},
	{Type: "is_html", Answer: true, keys: "value extract"},
	{Type: "is_sql", Answer: true, keys: "value extract dialect"},
	{Type: "cel", keys: "expr range", needs: "expr"},
	{Type: "checks", Answer: true, keys: "check"},
	{Type: "refusal", Answer: true, keys: "value extract"},
	{Type: "finish_reason", keys: "options"},
	{Type: "latency", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "cost", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "tokens", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "iterations", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "calls", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "command", also: "python javascript script program", Answer: true, Asks: true, keys: "value extract target timeout range command overlay", needs: "command"},
	{Type: "test", Asks: true, keys: "timeout command overlay share", needs: "command"},
	{Type: "http", Answer: true, Asks: true, keys: "value extract target timeout range url headers", needs: "url"},
	{Type: "judge", also: "llm_rubric llm_judge llm model_graded_qa model_graded_fact g_eval factuality rubric", Answer: true, Asks: true, keys: "value extract target timeout model models votes reduce rubric reference temperature max_output_tokens range criteria choices", check: (*loader).checkJudge},
	{Type: "pairwise", Answer: true, Asks: true, Pairs: true, keys: "value extract target timeout model models votes reduce rubric reference temperature max_output_tokens against", check: (*loader).checkJudge},
	{Type: "all_of", keys: "scorers threshold", needs: "scorers"},
	{Type: "any_of", keys: "scorers threshold", needs: "scorers"},
	{Type: "tools_called", Target: true, Course: true, keys: "target tools delegates"},
	{Type: "tools_not_called", Target: true, Course: true, keys: "target tools delegates"},
	{Type: "tool_order", Target: true, Course: true, keys: "target tools exactly delegates"},
	{Type: "tool_args", Course: true, keys: "expr tools every delegates", needs: "expr"},
	{Type: "tool_call_count", Course: true, keys: "tools min max equals delegates", check: (*loader).checkBounds},
	{Type: "steps", Course: true, keys: "min max equals delegates", check: (*loader).checkBounds},
	{Type: "no_repeated_calls", Course: true, keys: "tools delegates"},
}

// Which outputs a scorer judges.
const (
	ScoreReturned       = "returned"
	ScoreEveryIteration = "every_iteration"
	ScoreWhenAsked      = "when_asked"
)

// Criterion is one of the things that a judge is asked for.
type Criterion struct {
	Name   string   `yaml:"name" need:"required" minlen:"1"`
	Rubric *Prompt  `yaml:"rubric" need:"required" doc:"{{ }} holds CEL over task and target."`
	Weight *float64 `yaml:"weight" above:"0" max:"1000000" doc:"What it counts (default 1)."`

	Node *source.Node `yaml:",here"`
}

// ScorerPart is a part of all_of or any_of: a scorer of the suite by its name, or one of its own.
type ScorerPart struct {
	Named  string
	Scorer *Scorer

	Node *source.Node
}

// DecodeNode takes a name or a scorer.
func (p *ScorerPart) DecodeNode(n *source.Node, d *source.Decoder) {
	p.Node = n
	if n.Kind != source.Map {
		d.DecodeTagged(n, &p.Named, `minlen:"1"`)
		return
	}
	p.Scorer = &Scorer{}
	d.Decode(n, p.Scorer)
}

func (p *ScorerPart) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "minLength": 1}, g.Struct(Scorer{})}}
}

// Extract takes the answer out of a value. One of both is set.
type Extract struct {
	Regex string `yaml:"regex" short:"text" minlen:"1"`
	Expr  *Expr  `yaml:"expr"`

	Node *source.Node `yaml:",here" one:"regex expr" hint:"regex is a regular expression, expr is CEL"`
}

// AllScorers are the scorers of the suite, and those that only stand within others.
func (s *Suite) AllScorers() iter.Seq[*Scorer] {
	return func(yield func(*Scorer) bool) {
		for i := range s.Scorers {
			if !s.Scorers[i].each(yield) {
				return
			}
		}
	}
}

// each yields the scorer and those that stand within it.
func (s *Scorer) each(yield func(*Scorer) bool) bool {
	if !yield(s) {
		return false
	}
	for i := range s.Parts {
		if part := s.Parts[i].Scorer; part != nil && !part.each(yield) {
			return false
		}
	}
	return true
}

// modelNodes are where the scorer names models.
func (s *Scorer) modelNodes() []*source.Node {
	var nodes []*source.Node
	if n := s.Node.Get("model"); n != nil {
		nodes = append(nodes, n)
	}
	if n := s.Node.Get("models"); n != nil && n.Kind == source.List {
		nodes = append(nodes, n.Items...)
	}
	return nodes
}

// Hash identifies what the scorer does, whatever the layout of its file: what it says itself, and what it names: the
// file of a schema, the files that its program is given, the scorers that are its parts, the models that it asks
// (provider, name and address) and the configuration that it compares with. It is "" for one that comes from no file.
func (s *Scorer) Hash() string {
	if s.hash == "" && s.Node != nil {
		return hashed(s.plainText())
	}
	return s.hash
}

// plainText is what the scorer says itself.
func (s *Scorer) plainText() []byte {
	text, err := expr.AppendJSON(nil, valueOf(s.Node.Plain()))
	if err != nil {
		return []byte(s.Name + "\n" + string(s.Type)) // no value of a file is without JSON
	}
	return text
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// hashScorers gives scorers the hashes of what they say and name.
func (l *loader) hashScorers(s *Suite) {
	h := scorerHashes{loader: l, suite: s}
	for scorer := range s.AllScorers() {
		h.hash(scorer)
	}
}

type scorerHashes struct {
	*loader
	suite *Suite
	open  []*Scorer // that are being hashed; a set that is a part of itself is a fault
}

func (h *scorerHashes) hash(s *Scorer) string {
	if s.hash != "" || s.Node == nil || slices.Contains(h.open, s) {
		return s.hash
	}
	h.open = append(h.open, s)
	text := bytes.NewBuffer(s.plainText())
	h.named(text, s)
	s.hash = hashed(text.Bytes())
	h.open = h.open[:len(h.open)-1]
	return s.hash
}

// named writes what a scorer names. A scorer that names nothing has the hash of what it says.
func (h *scorerHashes) named(to io.Writer, s *Scorer) {
	if s.SchemaFile != "" {
		fmt.Fprintf(to, "\nschema %s", s.Schema)
	}
	for _, argument := range s.Command {
		h.hashFile(to, h.doc.folder, argument)
	}
	for _, n := range s.modelNodes() {
		if m, ok := h.suite.Models.Get(n.Text); ok {
			fmt.Fprintf(to, "\nmodel %q %q %q %q", n.Text, m.Provider, m.Name, m.BaseURL)
		}
	}
	if s.Type == "pairwise" {
		fmt.Fprintf(to, "\nagainst %q", cmp.Or(s.Against, h.suite.Baseline))
	}
	for i := range s.Parts {
		if part := s.Parts[i].of(h.suite.Scorers); part != nil {
			fmt.Fprintf(to, "\npart %q %s", part.Name, h.hash(part))
		}
	}
}

// hashOf identifies what a loop does: its values after presets and parameters, whatever the layout of its file, the contents
// of the files that its programs are given, and the loops that it delegates to.
func (l *Loop) hashOf(leaves []Value) string {
	h := sha256.New()
	var line []byte
	for _, leaf := range leaves {
		if leaf.Value == nil {
			continue // off is the same as absent
		}
		text, isText := leaf.Value.(string)
		if !isText {
			text = fmt.Sprint(leaf.Value)
		}
		line = strconv.AppendQuote(line[:0], leaf.Path) // %q=%T:%q
		line = append(append(append(line, '='), reflect.TypeOf(leaf.Value).String()...), ':')
		h.Write(append(strconv.AppendQuote(line, text), '\n'))
	}
	for _, stage := range l.Stages() {
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				fmt.Fprintf(h, "delegate %q=%s\n", delegate.Name, delegate.Resolved.hash)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// contents identifies the contents of the files that the programs of a loop, and of its delegates, are given; "" without one.
func (l *loader) contents(loop *Loop, file *loopFile) string {
	var text bytes.Buffer
	var words []string
	for _, stage := range loop.Stages() {
		words = append(words, stage.Agent.Command...)
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				text.WriteString(delegate.Resolved.contents)
			}
		}
	}
	for _, t := range loop.tools() {
		words = append(words, t.programArguments()...)
	}
	if e := loop.Evaluate; e != nil && e.Command != nil {
		words = append(words, e.Command.Argv...)
	}
	if w := loop.Workspace; w != nil && w.Setup != nil {
		words = append(words, w.Setup.Command...)
	}
	for _, word := range words {
		l.hashFile(&text, file.folder, word)
	}
	if text.Len() == 0 {
		return ""
	}
	return hashed(text.Bytes())
}

// programArguments are those of the program that the tool is, or that its server is.
func (t *Tool) programArguments() []string {
	if t.MCP != nil {
		return t.MCP.Command
	}
	return t.Command
}

// hashFile adds a program's argument if it is a file, such as a script: beside the loop, or, where that is on disk, elsewhere
// there.
func (l *loader) hashFile(h io.Writer, folder folder, argument string) {
	key := argument
	if folder.copied != "" {
		key = folder.copied + ":" + argument
	}
	sum, known := l.scripts[key]
	if !known && l.opt.Recorded == nil {
		sum = hashOfFile(folder, argument)
		l.scripts[key] = sum
	}
	if sum != "" {
		fmt.Fprintf(h, "file %q=%s\n", argument, sum)
	}
}

// hashOfFile is that of a file's contents, "" of what is none or belongs to the system.
func hashOfFile(folder folder, argument string) string {
	file, err := folder.look(argument, 0)
	if err != nil {
		switch {
		case filepath.IsAbs(argument) && folder.disk != "":
			file, err = openOwn(argument)
		case folder.disk != "":
			file, err = openOwn(folder.disk + string(filepath.Separator) + argument) // not cleaned: .. is that of a link's target
		}
	}
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, info.Size())); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// openOwn opens a regular file on disk that is not the system's, neither by its path nor behind links.
func openOwn(path string) (fs.File, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil:
		return nil, err
	case ofSystem(path), ofSystem(real):
		return nil, errNotRegular
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errNotRegular)
	}
	return os.Open(real)
}

// systemFolders hold what changes with the system, such as interpreters, and what is no contents of files.
var systemFolders = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/opt/homebrew", "/nix/store", "/snap", "/etc", "/proc", "/sys",
	"/System", "/Library", "/Applications", "/Windows", "/Program Files", "/Program Files (x86)",
}

func ofSystem(path string) bool {
	clean := filepath.Clean(path)
	clean = filepath.ToSlash(clean[len(filepath.VolumeName(clean)):])
	return slices.ContainsFunc(systemFolders, func(folder string) bool { return strings.HasPrefix(clean, folder+"/") })
}

// What one load may do, so that check of any file ends within seconds and in little memory.
const (
	// maxCombinations of all sweeps of a suite are spread out. Who wants to try more lets tune replay them.
	maxCombinations = 10_000
	// maxValues are made of all loop files together, each counted for every configuration that uses it.
	maxValues = 500_000
	// maxEffort is the length of all different expressions. Compiling a kilobyte takes up to 15 ms.
	maxEffort = 32 << 10
)

// effort is what a load has done so far.
type effort struct {
	combinations, values int64
	expressions          int
	compiled             map[compiledText]bool
	toldExpressions      bool
}

type compiledText struct {
	env  *expr.Env
	text string
}

// affordsConfigurations reports whether so many more configurations of a loop can be made, and tells the first that
// cannot.
func (l *loader) affordsConfigurations(at *source.Node, n int64, file *loopFile) bool {
	const hint = "sweep fewer values; tune tries thousands without running them"
	told := l.effort.combinations > maxCombinations || l.effort.values > maxValues
	l.effort.combinations += n
	l.effort.values += n * sizeOf(file.tree)
	switch {
	case told:
	case l.effort.combinations > maxCombinations && n == 1:
		l.fault(at, hint, "a suite may have %s configurations", Thousands(maxCombinations))
	case l.effort.combinations > maxCombinations:
		count := Thousands(n)
		if n == manyCombinations {
			count = "more than " + count
		}
		l.fault(at, hint, "this sweep has %s combinations; a suite may have %s", count, Thousands(maxCombinations))
	case l.effort.values > maxValues:
		l.fault(at, hint, "the loops of all configurations have more than %s values together", Thousands(maxValues))
	default:
		return true
	}
	return false
}

// sizeOf counts the values of a tree.
func sizeOf(n *source.Node) int64 {
	if n == nil {
		return 0
	}
	size := int64(1)
	for _, item := range n.Items {
		size += sizeOf(item)
	}
	for _, entry := range n.Entries {
		size += sizeOf(entry.Value)
	}
	return size
}

// affords reports whether one more expression can be compiled, and tells the first that cannot. One that was met before
// costs nothing.
func (c compiler) affords(n *source.Node, text string, cost int) bool {
	known := compiledText{c.env, text}
	if !c.effort.compiled[known] {
		if c.effort.compiled == nil {
			c.effort.compiled = map[compiledText]bool{}
		}
		c.effort.compiled[known] = true
		c.effort.expressions += cost
	}
	if c.effort.expressions <= maxEffort {
		return true
	}
	if !c.effort.toldExpressions {
		c.effort.toldExpressions = true
		c.fault(n, "let expressions read parameters, or split the suite", "too many expressions: a suite may have %d KiB of different ones", maxEffort>>10)
	}
	return false
}

// effortOf is what compiling an expression costs: its length, and more where literals are nested, whose types take
// long to find.
func effortOf(text string) int {
	const perExpression, shallow, longest = 16, 4, 4096 // what is longer is refused at once
	depth, deepest := 0, 0
	for _, char := range text {
		switch char {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return (perExpression + min(len(text), longest)) * max(shallow, deepest) / shallow
}

// effortOfPrompt is the effort of the expressions in a text.
func effortOfPrompt(text string) (sum int) {
	pieces := strings.Split(strings.ReplaceAll(text, "{{{{", ""), "{{")
	for _, piece := range pieces[1:] {
		inside, _, _ := strings.Cut(piece, "}}")
		sum += effortOf(inside)
	}
	return sum
}

// needsTarget names a scorer that cannot do without a target of each task, and one to which it must be a number; ""
// where there is none, or where tasks may be without one.
func (s *Suite) needsTarget() (any, number string) {
	if s.Tasks.Targets == TargetsOptional {
		return "", ""
	}
	for scorer := range s.AllScorers() {
		if scorer.NeedsTarget() {
			any = cmp.Or(any, scorer.Name)
			if scorer.Type == "numeric" {
				number = cmp.Or(number, scorer.Name)
			}
		}
	}
	return any, number
}

// NeedsTarget reports whether the scorer compares with the target of the task, and nothing else takes its place.
func (s *Scorer) NeedsTarget() bool {
	switch s.Type {
	case "judge", "pairwise":
		asks := func(rubric *Prompt) bool { return rubric.reads("target", "task.target") }
		return s.Target == nil && (s.Reference || slices.ContainsFunc(s.rubrics(), asks))
	case "json_path":
		return s.Target == nil && s.Expr != nil && s.Expr.Program != nil && !s.Expr.Program.IsBool()
	case "tools_called", "tools_not_called", "tool_order":
		return s.Tools == nil && s.Target == nil
	}
	return s.Kind().Target && s.Options == nil && s.Target == nil
}

// rubrics are what a judge is asked for.
func (s *Scorer) rubrics() (rubrics []*Prompt) {
	if s.Rubric != nil {
		rubrics = append(rubrics, s.Rubric)
	}
	for i := range s.Criteria {
		if rubric := s.Criteria[i].Rubric; rubric != nil {
			rubrics = append(rubrics, rubric)
		}
	}
	return rubrics
}
