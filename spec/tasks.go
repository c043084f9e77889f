package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks are where the tasks come from: a list (then only Inline is set), a file or pattern (then only Files is set), or
// a mapping that also says which of them are taken. One of Inline, Files and Folders is set.
type Tasks struct {
	Node *source.Node `yaml:",here"`

	Inline   []InlineTask       `yaml:"list" minlen:"1" doc:"Tasks in the suite itself, instead of files." also:"tasks items"`
	Files    []string           `yaml:"files" minlen:"1" doc:"Paths or patterns, also below a root: data:/x/*.json. One that ends in / is all files of a folder." also:"file path source from dataset"`
	Folders  Paths              `yaml:"folders" doc:"Paths or patterns of folders, each a task: its id is the folder's name, vars.repo its path. A task.yaml in it may say more."`
	Each     *Expr              `yaml:"each" doc:"CEL giving the list of rows of a file (default: the file is a list, or a row a line)."`
	ID       *Expr              `yaml:"id" doc:"CEL string."`
	Input    *Expr              `yaml:"input" doc:"CEL. Without id, input, target, vars and metadata the rows have the keys of a task."`
	Target   *Expr              `yaml:"target" doc:"CEL; what a right answer is judged against."`
	Vars     source.Named[Expr] `yaml:"vars"`
	Metadata source.Named[Expr] `yaml:"metadata"`
	Images   *Expr              `yaml:"images" doc:"CEL: a list of paths and data: URLs of images, or one of them."`

	Where   *Expr    `yaml:"where" doc:"CEL over task and row: the tasks that are taken, before sample, shuffle and limit."`
	Sample  *Sample  `yaml:"sample" doc:"Some of the tasks, drawn by lot."`
	Shuffle *Shuffle `yaml:"shuffle" doc:"true or a seed: another order, drawn by lot (default seed: the suite's)."`
	Limit   int      `yaml:"limit" min:"1" doc:"The first so many tasks, after where, sample and shuffle."`
	Targets string   `yaml:"targets" enum:"required|optional" doc:"Whether tasks need a target where scorers compare with it (default required)."`
}

// TargetsOptional lets tasks have no target: what compares with it leaves their runs unscored.
const TargetsOptional = "optional"

// Sample says how many tasks are drawn by lot, of all or of each stratum. One of N and Share is set.
type Sample struct {
	By    *Expr   `yaml:"by" doc:"CEL over task and row: tasks for which it gives the same are a stratum."`
	N     int     `yaml:"n" min:"1" doc:"So many, of each stratum."`
	Share float64 `yaml:"share" above:"0" max:"1" doc:"This share, of each stratum as near as can be."`
	Seed  *int64  `yaml:"seed" doc:"Default: the suite's seed."`

	Node *source.Node `yaml:",here"`
}

// Shuffle says whether tasks are shuffled, and by which seed; nil: the suite's.
type Shuffle struct {
	On   bool
	Seed *int64
}

// DecodeNode takes true, false or a seed.
func (s *Shuffle) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.Bool {
		d.Decode(n, &s.On)
		return
	}
	s.On, s.Seed = true, new(int64)
	d.Decode(n, s.Seed)
}

func (s *Shuffle) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"boolean", "integer"}}
}

// InlineTask is a task written in the suite, or a row of a plain task file.
type InlineTask struct {
	ID       string            `yaml:"id" minlen:"1" doc:"Default: task-1 ..." also:"name"`
	Input    any               `yaml:"input" also:"prompt question text query problem task"`
	Target   any               `yaml:"target" also:"expected answer expected_output ideal label reference output"`
	Vars     source.Named[any] `yaml:"vars"`
	Metadata source.Named[any] `yaml:"metadata"`
	Images   []string          `yaml:"images" minlen:"1" doc:"Pictures that models are shown with the prompt: paths, relative to this file, or data: URLs."`

	Node *source.Node `yaml:",here"`
}

// Task is one problem. Values are those of expr: string, float64, bool, nil,
// []any and *expr.Object.
type Task struct {
	ID       string
	Input    any
	Vars     any
	Target   any // nil where there is none
	Metadata any
	Images   []*Image
	// Folder is the folder that the task is, as vars.repo has it; "" where it is none.
	Folder string
	// Cluster is what the suite's expression of that name gives; "" where there
	// is none, or where the task stands for itself.
	Cluster string
	// Group is what group_by gives; "" where there is none, or where the task is in
	// no group.
	Group string
}

type taskMapping Tasks

// DecodeNode takes a list of tasks, a path, or a mapping over files.
func (t *Tasks) DecodeNode(n *source.Node, d *source.Decoder) {
	t.Node = n
	switch n.Kind {
	case source.List:
		d.Decode(n, &t.Inline)
		if len(n.Items) == 0 {
			d.Fault(n, "a task is written {input: ..., target: ...}", "the list of tasks is empty")
		}
	case source.Map:
		d.Decode(n, (*taskMapping)(t))
	default:
		var path string
		d.DecodeTagged(n, &path, `minlen:"1"`)
		t.Files = []string{path}
	}
}

func (t *Tasks) JSONSchema(g *source.Generator) map[string]any {
	path := map[string]any{"type": "string", "minLength": 1, "description": "A .jsonl, .json, .yaml, .csv or .parquet file, a pattern, or a folder that ends in /."}
	return map[string]any{"anyOf": []any{path, g.Tagged(t.Inline, `minlen:"1"`), g.Struct(*t)}}
}

// drawn says which of the tasks are taken where that is drawn by lot, and in which order. It keeps where they stand,
// not what they say: 32 bytes of each.
type drawn struct {
	candidates []candidate
	files      []*dataFile
	unpacking  unpacking
}

// candidate is a task that may be taken.
type candidate struct {
	key     uint64 // of its id
	at      int64  // the byte that its row begins at, in a file that is streamed
	n       int32  // the number of its row; of an inline task its own
	file    int32  // -1: it is inline
	number  int32  // among all that where lets pass
	stratum int32
}

// keyOf stands for an id, on every platform the same.
func keyOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:8])
}

// What candidates are drawn for: one does not tell of the other.
const (
	forSample = iota + 1
	forShuffle
)

// lottery puts candidates in an order.
type lottery struct{ salt uint64 }

func newLottery(seed int64, purpose uint64) lottery { return lottery{mix(uint64(seed) ^ mix(purpose))} }

func (l lottery) compare(a, b *candidate) int {
	return cmp.Or(cmp.Compare(mix(a.key^l.salt), mix(b.key^l.salt)), cmp.Compare(a.number, b.number))
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// byLot reports whether which tasks are taken, or their order, is drawn.
func (t *Tasks) byLot() bool { return t.Sample != nil || t.isShuffled() }

func (t *Tasks) isShuffled() bool { return t.Shuffle != nil && t.Shuffle.On }

// draw is what is drawn from the tasks of a suite while they are read.
type draw struct {
	tasks      *Tasks
	seed       int64 // the suite's
	candidates []candidate
	files      []*dataFile
	strata     map[string]*stratum
	size       int // tasks so far
	nextCut    int
}

// stratum is a part of the tasks that a sample is drawn from.
type stratum struct {
	name                string
	number, size, taken int
}

func newDraw(s *Suite) *draw {
	return &draw{tasks: &s.Tasks, seed: s.Seed, strata: map[string]*stratum{}, nextCut: 4096}
}

// put takes up a task.
func (d *draw) put(placed placedTask) error {
	of, err := d.stratumOf(placed)
	if err != nil {
		return err
	}
	l := candidate{key: keyOf(placed.task.ID), at: placed.row.at, n: int32(placed.row.n), number: int32(d.size), file: -1, stratum: int32(of.number)}
	if file := placed.row.dataFile; file != nil {
		if len(d.files) == 0 || d.files[len(d.files)-1] != file {
			d.files = append(d.files, file)
		}
		l.file = int32(len(d.files) - 1)
	}
	of.size++
	d.size++
	d.candidates = append(d.candidates, l)
	if d.prunes() && len(d.candidates) >= d.nextCut {
		d.cut(false)
		d.nextCut = max(4096, 2*len(d.candidates))
	}
	return nil
}

func (d *draw) stratumOf(placed placedTask) (*stratum, error) {
	name := ""
	if d.tasks.Sample != nil {
		var err error
		if name, err = d.tasks.Sample.stratum(placed); err != nil {
			return nil, err
		}
	}
	of := d.strata[name]
	if of == nil {
		of = &stratum{name: name, number: len(d.strata)}
		d.strata[name] = of
	}
	return of, nil
}

// prunes reports whether candidates can be left away before the end.
func (d *draw) prunes() bool {
	if d.tasks.Sample != nil {
		return d.tasks.Sample.N > 0
	}
	return d.tasks.Limit > 0
}

// cut leaves the candidates away that are not taken whatever comes after them; in the end, all that are not taken.
func (d *draw) cut(end bool) {
	if d.tasks.Sample != nil {
		d.cutSample(end)
	}
	if end || d.tasks.Sample == nil {
		d.order()
	}
}

// order puts the candidates in the order in which they are run, and cuts them to the limit.
func (d *draw) order() {
	seed := d.seed
	if s := d.tasks.Shuffle; s != nil && s.Seed != nil {
		seed = *s.Seed
	}
	shuffled := newLottery(seed, forShuffle)
	slices.SortFunc(d.candidates, func(a, b candidate) int {
		if d.tasks.isShuffled() {
			return shuffled.compare(&a, &b)
		}
		return cmp.Compare(a.number, b.number)
	})
	if limit := d.tasks.Limit; limit > 0 && len(d.candidates) > limit {
		d.candidates = slices.Clip(d.candidates[:limit])
	}
}

// cutSample leaves in each stratum as many candidates as are drawn from it; before the end, as many as may be.
func (d *draw) cutSample(end bool) {
	seed := d.seed
	if d.tasks.Sample.Seed != nil {
		seed = *d.tasks.Sample.Seed
	}
	drawn := newLottery(seed, forSample)
	slices.SortFunc(d.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.stratum, b.stratum), drawn.compare(&a, &b))
	})
	quota := d.quotas()
	kept := d.candidates[:0]
	for _, l := range d.candidates {
		if quota[l.stratum] > 0 {
			quota[l.stratum]--
			kept = append(kept, l)
		}
	}
	d.candidates = kept
	if !end {
		return
	}
	for _, s := range d.strata {
		s.taken = 0
	}
	sorted := d.byNumber()
	for i := range d.candidates {
		sorted[d.candidates[i].stratum].taken++
	}
}

func (d *draw) byNumber() []*stratum {
	all := make([]*stratum, len(d.strata))
	for _, s := range d.strata {
		all[s.number] = s
	}
	return all
}

// quotas are how many tasks are drawn from each stratum, by its number: the same of each, or its share of all that are
// drawn, in which those with the largest remainders are rounded up.
func (d *draw) quotas() []int {
	all := d.byNumber()
	quota := make([]int, len(all))
	if n := d.tasks.Sample.N; n > 0 {
		for i := range quota {
			quota[i] = n
		}
		return quota
	}
	share, left := d.tasks.Sample.Share, int(math.Round(d.tasks.Sample.Share*float64(d.size)))
	for i, s := range all {
		quota[i] = int(share * float64(s.size))
		left -= quota[i]
	}
	rest := func(s *stratum) float64 { return share*float64(s.size) - float64(quota[s.number]) }
	slices.SortFunc(all, func(a, b *stratum) int {
		return cmp.Or(cmp.Compare(rest(b), rest(a)), cmp.Compare(a.name, b.name))
	})
	for _, s := range all[:max(0, min(left, len(all)))] {
		quota[s.number]++
	}
	return quota
}

// maxStrataTold are warned of; of many strata most are small.
const maxStrataTold = 5

// warnings tell of strata that are too small for what is drawn from them.
func (d *draw) warnings() (warnings source.Faults) {
	sample := d.tasks.Sample
	if sample == nil {
		return nil
	}
	var small []*stratum
	for _, s := range d.byNumber() {
		if s.taken < sample.N || s.taken == 0 {
			small = append(small, s)
		}
	}
	slices.SortFunc(small, func(a, b *stratum) int { return cmp.Compare(a.name, b.name) })
	for i, s := range small {
		if i == maxStrataTold {
			warnings = append(warnings, sample.Node.Fault("", "and so have %d other strata", len(small)-i).AsWarning())
			break
		}
		of := "there are"
		if sample.By != nil {
			of = fmt.Sprintf("the stratum %q has", shorten(s.name))
		}
		f := sample.Node.Fault("", "%s too few tasks for a share of %v: %d, of which none is drawn", of, sample.Share, s.size)
		if sample.N > 0 {
			f = sample.Node.Fault("", "%s %d of the %d tasks that are to be drawn", of, s.size, sample.N)
		}
		warnings = append(warnings, f.AsWarning())
	}
	return warnings
}

// passes reports whether a task is one that where takes.
func (t *Tasks) passes(placed placedTask) (bool, error) {
	if t.Where == nil || t.Where.Program == nil {
		return true, nil
	}
	pass, err := t.Where.Bool(background, selectionScope{placed})
	if err != nil {
		return false, mappingFault(t.Where, err, placed.where())
	}
	return pass, nil
}

// stratum is the name of what the task is drawn from; "" for all tasks where nothing tells them apart.
func (s *Sample) stratum(placed placedTask) (string, error) {
	if s.By == nil || s.By.Program == nil {
		return "", nil
	}
	value, err := s.By.Value(background, selectionScope{placed})
	if err != nil {
		return "", mappingFault(s.By, err, placed.where())
	}
	name, ok := ClusterName(value)
	if !ok {
		return "", s.By.Node.Fault("for example task.metadata.topic", "this gives %s, not text, a number or a truth value (in %s)", listOrObject(value), placed.where())
	}
	return name, nil
}

// selectionScope is what where and by see.
type selectionScope struct{ placed placedTask }

// Lookup implements expr.Scope.
func (s selectionScope) Lookup(name string) (any, bool) {
	inline := s.placed.node // a task that is written in the suite serves as its own row
	switch {
	case name == "task":
		return JudgedTask{s.placed.task}, true
	case inline == nil:
		return rowScope{s.placed.row}.Lookup(name)
	case name == "row":
		var plain any
		source.Decode(inline, &plain)
		return valueOf(plain), true
	case name == "file":
		return inline.File.Name, true
	case name == "line":
		return int64(inline.Pos.Line), true
	}
	return nil, false
}

// ShortNames are the shortest suffixes of paths that mean no other parameter of the loop, nor each other: what the
// parameters of a sweep are called in the names of its configurations.
func (l *Loop) ShortNames(paths ...string) []string {
	count := suffixes{}
	known := map[string]bool{}
	add := func(path string) {
		if !known[path] {
			known[path] = true
			count.count(path)
		}
	}
	for _, path := range paths {
		add(FullPath(path))
	}
	for _, leaf := range l.Values() {
		if leaf.Parameter {
			add(leaf.Path)
		}
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = count.shortest(FullPath(path))
	}
	return names
}

// cluster gives a task the cluster and the group that the suite's expressions
// say, if it has them. Their faults are told where the task stands.
func (s *Suite) cluster(placed placedTask) (err error) {
	if placed.task.Cluster, err = s.named(placed, s.Cluster, "cluster", "null: the task is a cluster of its own"); err != nil {
		return err
	}
	placed.task.Group, err = s.named(placed, s.GroupBy, "group", "null: the task is in no group")
	return err
}

// named is the name that an expression gives to a task.
func (s *Suite) named(placed placedTask, e *Expr, what, orNull string) (string, error) {
	if e == nil || e.Program == nil {
		return "", nil
	}
	value, err := e.Value(background, taskScope{placed.task})
	if err != nil {
		return "", placed.fault(orNull, "the %s of this task: %v (%s)", what, err, e.Text)
	}
	text, ok := ClusterName(value)
	if !ok {
		return "", placed.fault("for example task.metadata.topic", "the %s of this task is %s, not text, a number or a truth value (%s)", what, listOrObject(value), e.Text)
	}
	return text, nil
}

// ClusterName is the name of a cluster or a group; null names none.
func ClusterName(value any) (name string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func listOrObject(value any) string {
	if _, ok := value.([]any); ok {
		return "a list"
	}
	return "an object"
}

// taskScope is what expressions over a task alone see.
type taskScope struct{ task *Task }

// Lookup implements expr.Scope.
func (s taskScope) Lookup(name string) (any, bool) {
	if name != "task" {
		return nil, false
	}
	return TaskFields{s.task}, true
}

// plainTask makes a task of a row that has the keys of a task. A file of text is the input of
// the task that its name names. In a .csv file vars.NAME and metadata.NAME are columns.
func plainTask(r row) (*Task, error) {
	object, ok := r.value.(*expr.Object)
	if !ok {
		hint := `write {"id": ..., "input": ..., "target": ...}`
		if _, isList := r.value.([]any); isList && r.format.streamed() {
			hint = "a .jsonl file has one object a line; a file that is one list is named .json"
		}
		return nil, r.fault(r.n, hint, "want a task, an object")
	}
	if !r.format.rows() {
		name, _ := object.Get("stem")
		text, _ := object.Get("text")
		return &Task{ID: name.(string), Input: text}, nil
	}
	task := &Task{}
	for i := range object.Len() {
		key, value := object.At(i)
		if err := task.set(key, value, r); err != nil {
			return nil, err
		}
	}
	if task.ID == "" {
		task.ID = r.place(r.n)
	}
	if task.Input == nil && task.Vars == nil {
		return nil, r.fault(r.n, "a task has input or vars", "this task has no input")
	}
	return task, nil
}

// mappingHint says what to do about a key that tasks do not have: how to call it in a row that is a task else, or the
// mapping that makes tasks of rows of another form, as far as their names tell.
func mappingHint(key string, r row) string {
	object := r.value.(*expr.Object)
	if near := source.Closest(key, mappingKeys[1:]); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if _, isTask := object.Get("input"); isTask {
		meant := source.Meant[InlineTask](key)
		if _, taken := object.Get(meant); meant != "" && !taken {
			return "name it " + meant
		}
		if r.isCSV() {
			return fmt.Sprintf("name the column vars.%s or metadata.%s", key, key)
		}
		return fmt.Sprintf(`write it as {"vars": {%q: ...}} or {"metadata": {%q: ...}}`, key, key)
	}
	if first, _ := object.At(0); r.isCSV() && object.Len() == 1 && strings.ContainsAny(first, ";\t|") {
		return "separate the columns with commas"
	}
	parts := map[string]string{}
	var vars []string
	for i := range object.Len() {
		key, _ := object.At(i)
		name := strings.ToLower(strings.TrimSpace(key))
		if !slices.Contains(mappingKeys, name) {
			name = source.Meant[InlineTask](name)
		}
		value := "row." + key
		if !isWord(key) {
			value = fmt.Sprintf(`'row["%s"]'`, key)
		}
		if name == "" || parts[name] != "" {
			vars = append(vars, inFlow(key)+": "+value)
		} else {
			parts[name] = value
		}
	}
	if len(vars) > 0 && len(vars) <= fewNames && parts["vars"] == "" {
		parts["vars"] = "{" + strings.Join(vars, ", ") + "}"
	}
	if parts["input"] == "" && parts["vars"] == "" {
		parts["input"] = "row.…"
	}
	text := "write tasks: {files: [" + r.name + "]"
	for _, key := range mappingKeys {
		if parts[key] != "" {
			text += ", " + key + ": " + parts[key]
		}
	}
	return text + "}"
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !('0' <= r && r <= '9')
	}) < 0
}

func (t *Task) set(key string, value any, r row) (err error) {
	section, name, dotted := strings.Cut(key, ".")
	switch {
	case (key == "id" || key == "target") && value == "" && r.isCSV():
		// an empty cell: the row has none
	case key == "id":
		t.ID, err = idOf(value, r)
	case key == "input":
		t.Input = value
	case key == "target":
		t.Target = value
	case dotted && section == "vars":
		t.Vars = withKey(t.Vars, name, value)
	case dotted && section == "metadata":
		t.Metadata = withKey(t.Metadata, name, value)
	case key == "vars":
		t.Vars, err = wantObject(key, value, r)
	case key == "metadata":
		t.Metadata, err = wantObject(key, value, r)
	case key == "images":
		t.Images, err = imagesOf(value, r)
	default:
		at := r.n
		if r.isCSV() {
			at = 1 // where the columns are named
		}
		return r.fault(at, mappingHint(key, r), "unknown key %q: a task has id, input, target, vars, metadata and images", shorten(key))
	}
	return err
}

func withKey(object any, key string, value any) any {
	o, ok := object.(*expr.Object)
	if !ok {
		o = expr.NewObject(4)
	}
	o.Set(key, value)
	return o
}

func wantObject(key string, value any, r row) (any, error) {
	if _, ok := value.(*expr.Object); !ok && value != nil {
		return nil, r.fault(r.n, "", "%s must be an object", key)
	}
	return value, nil
}

// idOf takes text and, because many files have them, whole numbers.
func idOf(value any, r row) (string, error) {
	switch id := value.(type) {
	case string:
		if id != "" {
			return id, nil
		}
	case float64:
		if id == math.Trunc(id) && math.Abs(id) < 1<<53 {
			return strconv.FormatInt(int64(id), 10), nil
		}
	}
	return "", r.fault(r.n, "", "an id is text that is not empty, or a whole number")
}

// maxTaskFaults are told, and maxAlike that say the same; who has made one mistake in 10,000 rows wants to read it once.
const maxTaskFaults, maxAlike = 10, 3

// CountTasks reads the tasks, says how many are taken, and finds what is wrong with them: rows that cannot be read,
// ids that stand twice, targets that are missing, no tasks at all. Where tasks are drawn by lot it draws them. It keeps
// some 10 bytes of each task, and where it draws, 32 more.
func (d *Document) CountTasks() (int, source.Faults) {
	if d.Suite == nil {
		return 0, nil
	}
	s := &survey{document: d, absent: d.readOfTasks()}
	s.needy, s.numeric = d.Suite.needsTarget()
	tasks := d.eligible(&s.terse)
	if d.Suite.Tasks.byLot() {
		s.draw = newDraw(d.Suite)
	} else {
		tasks = d.first(tasks)
	}
	for placed, err := range tasks {
		if err == nil {
			err = s.take(placed)
		}
		if err != nil {
			s.tell(err)
		}
	}
	s.findTwins()
	n := s.n
	if s.draw != nil {
		s.draw.cut(true)
		s.warnings = s.draw.warnings()
		for _, file := range s.draw.files {
			file.terse = nil
		}
		d.drawn.Store(&drawn{candidates: s.draw.candidates, files: s.draw.files})
		n = len(s.draw.candidates)
	}
	if n == 0 && len(s.faults) == 0 {
		s.faults = append(s.faults, d.noTasks())
	}
	if len(s.faults) == 0 {
		for _, read := range s.absent {
			s.faults = append(s.faults, read.fault())
		}
	}
	if s.untold > 0 {
		s.faults = append(s.faults, source.Fault{What: fmt.Sprintf("%d more faults of tasks are not shown", s.untold)})
	}
	return n, append(s.faults, s.warnings...)
}

// survey is what is found out about the tasks in one pass.
type survey struct {
	document *Document
	draw     *draw // nil: nothing is drawn
	n        int
	needy    string   // the scorer that needs targets; "": none
	numeric  string   // the one to which they are numbers; "": none
	keys     []uint64 // of the ids, unless the draw has all of them
	faults   source.Faults
	warnings source.Faults
	absent   []taskRead // what no task has had so far
	untold   int
	terse    bool // from here on faults are only counted
}

// taskRead is a variable of tasks that a prompt reads without asking whether it is there.
type taskRead struct {
	prompt        *Prompt
	section, name string // vars or metadata
}

// readOfTasks are the variables of tasks that the prompts of the loops read.
func (d *Document) readOfTasks() (reads []taskRead) {
	for _, loop := range d.Loops() {
		for _, p := range loop.prompts() {
			if p == nil || p.Template == nil || asksOfTasks.MatchString(p.Text) {
				continue
			}
			for _, path := range p.Template.Reads() {
				parts := strings.Split(path, ".")
				if len(parts) < 3 || parts[0] != "task" || parts[1] != "vars" && parts[1] != "metadata" {
					continue
				}
				read := taskRead{p, parts[1], parts[2]}
				same := func(r taskRead) bool { return r.fault() == read.fault() } // the loops of a sweep share their texts
				if !slices.ContainsFunc(reads, same) {
					reads = append(reads, read)
				}
			}
		}
	}
	return reads
}

// asksOfTasks matches a text that asks whether a task has something.
var asksOfTasks = regexp.MustCompile(`has\(task\.|task\.\w+(\.\?|\[\?)|in task\.|\?task`)

// prompts are the texts that the loop sends.
func (l *Loop) prompts() []*Prompt {
	prompts := []*Prompt{l.Prompt}
	for _, agent := range l.agents() {
		prompts = append(prompts, agent.System)
	}
	for i := range l.Phases {
		prompts = append(prompts, l.Phases[i].Prompt)
	}
	for i := range l.Strategies {
		prompts = append(prompts, l.Strategies[i].Prompt)
	}
	return prompts
}

func (r taskRead) fault() source.Fault {
	at := max(0, strings.Index(r.prompt.Text, r.section+"."+r.name))
	return r.prompt.Node.FaultAt(len([]rune(r.prompt.Text[:at])), len([]rune(r.section+"."+r.name)),
		fmt.Sprintf("give the tasks %s: {%s: ...}, or read task.input", r.section, r.name), "no task has %s.%s", r.section, r.name)
}

func (r taskRead) in(t *Task) bool {
	held := t.Vars
	if r.section == "metadata" {
		held = t.Metadata
	}
	object, ok := held.(*expr.Object)
	if ok {
		_, ok = object.Get(r.name)
	}
	return ok
}

func (s *survey) take(placed placedTask) error {
	s.n++
	if len(s.absent) > 0 {
		s.absent = slices.DeleteFunc(s.absent, func(r taskRead) bool { return r.in(placed.task) })
	}
	if s.draw == nil || s.draw.prunes() {
		s.keys = append(s.keys, keyOf(placed.task.ID))
	}
	if s.draw != nil {
		if err := s.draw.put(placed); err != nil {
			return err
		}
	}
	if err := placed.checkImages(); err != nil {
		return err
	}
	if s.needy != "" && placed.task.Target == nil {
		return placed.fault("write a target, or targets: optional under tasks, which leaves such runs unscored",
			"this task has no target, and the scorer %q compares with it", s.needy)
	}
	if text, ok := placed.task.Target.(string); ok && s.numeric != "" && !strings.ContainsFunc(text, unicode.IsDigit) {
		return placed.fault("use type: exact, or name a number in target", "this target is not a number, and the scorer %q compares numbers", s.numeric)
	}
	return nil
}

func (s *survey) tell(err error) {
	for _, fault := range faultsIn(err) {
		same := func(f source.Fault) bool { return f.What == fault.What }
		at := func(f source.Fault) bool {
			return same(f) && f.Pos == fault.Pos && f.Pos.Line > 0 && f.Error() == fault.Error()
		}
		switch alike := countFunc(s.faults, same); {
		case slices.ContainsFunc(s.faults, at): // the header of a table, which is wrong for each row
		case len(s.faults) < maxTaskFaults && alike < maxAlike && !s.terse:
			s.faults = append(s.faults, fault)
		default:
			s.untold++
		}
	}
	s.terse = len(s.faults) >= maxTaskFaults || s.untold >= maxTaskFaults
}

func countFunc(faults source.Faults, has func(source.Fault) bool) (n int) {
	for _, f := range faults {
		if has(f) {
			n++
		}
	}
	return n
}

// twice are the keys that were seen more than once: of ids that stand twice, or, rarely, of different ones.
func (s *survey) twice() map[uint64]bool {
	if s.draw != nil && !s.draw.prunes() {
		s.keys = make([]uint64, len(s.draw.candidates))
		for i := range s.draw.candidates {
			s.keys[i] = s.draw.candidates[i].key
		}
	}
	slices.Sort(s.keys)
	twice := map[uint64]bool{}
	for i := 1; i < len(s.keys); i++ {
		if s.keys[i] == s.keys[i-1] {
			twice[s.keys[i]] = true
		}
	}
	s.keys = nil
	return twice
}

// findTwins reads the tasks again where keys of ids were seen twice, and compares the ids themselves.
func (s *survey) findTwins() {
	twice := s.twice()
	if len(twice) == 0 {
		return
	}
	tasks := s.document.eligible(&s.terse)
	if s.draw == nil {
		tasks = s.document.first(tasks)
	}
	first := map[string]placedTask{}
	for placed, err := range tasks {
		if err != nil {
			continue // told before
		}
		if !twice[keyOf(placed.task.ID)] {
			continue
		}
		id := placed.task.ID
		other, known := first[id]
		if known {
			s.tell(placed.fault("give one of them another id", "duplicate task %q; first at %s", shorten(id), other.where()))
			continue
		}
		placed.task, placed.row.value, placed.row.doc = nil, nil, nil
		first[id] = placed
	}
}

// noTasks says that nothing is left, and of how many.
func (d *Document) noTasks() source.Fault {
	t, n := &d.Suite.Tasks, int64(0)
	for range d.written(nil) {
		n++
	}
	if t.Where != nil && n > 0 {
		return t.Where.Node.Fault("", "this leaves none of the %s tasks", Thousands(n))
	}
	return t.Node.Fault(`a task is written {"input": "...", "target": "..."}`, "there are no tasks")
}

func (p placedTask) where() string {
	if p.node != nil {
		return fmt.Sprintf("%s:%d", p.node.File.Name, p.node.Pos.Line)
	}
	return p.row.place(p.row.n)
}

func (p placedTask) fault(hint, format string, args ...any) error {
	if p.node != nil {
		return p.node.Fault(hint, format, args...)
	}
	return p.row.fault(p.row.n, hint, format, args...)
}

// faultsIn are the faults that an error of a row is.
func faultsIn(err error) source.Faults {
	if one, ok := errors.AsType[source.Fault](err); ok {
		return source.Faults{one}
	}
	if several, ok := errors.AsType[source.Faults](err); ok {
		return several
	}
	return source.Faults{{What: err.Error()}}
}

// TaskFields is a task as expressions inside a loop see it: without its target.
type TaskFields struct{ *Task }

// Field gives a field by its name; vars and metadata are never null.
func (f TaskFields) Field(name string) any {
	if f.Task == nil {
		return nil
	}
	switch name {
	case "id":
		return f.ID
	case "input":
		return f.Input
	case "vars":
		return orEmpty(f.Vars)
	case "metadata":
		return orEmpty(f.Metadata)
	}
	return nil
}

// JudgedTask is a task as expressions see it that never reach a loop: with its target.
type JudgedTask struct{ *Task }

// Field gives a field by its name.
func (f JudgedTask) Field(name string) any {
	if name == "target" && f.Task != nil {
		return f.Target
	}
	return TaskFields(f).Field(name)
}

func orEmpty(object any) any {
	if object == nil {
		return expr.NewObject(0)
	}
	return object
}
