package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Resolved is the resolved spec of a manifest: the suite as it was written, and its
// loops with their parameters set.
type Resolved struct {
	Suite Object `json:"suite"`
	// Import is the mapping that made the runs of the log of another tool; nil: they
	// were run.
	Import *Object `json:"import,omitempty"`
	// Configurations are loops, by the names of their configurations.
	Configurations Object `json:"configurations"`
	// Delegates are the loops to which these hand tasks, each by a name of its own.
	Delegates Object `json:"delegates,omitempty"`
}

// Object is a JSON object whose keys keep their order.
type Object []Field

// Field is a key of an object, and its value.
type Field struct {
	Key   string
	Value json.RawMessage
}

// Get is the value of a key, nil without one.
func (o Object) Get(key string) json.RawMessage {
	if at := o.index(key); at >= 0 {
		return o[at].Value
	}
	return nil
}

// Set gives a key a value; nil takes the key out.
func (o *Object) Set(key string, value json.RawMessage) {
	switch at := o.index(key); {
	case value == nil:
		*o = slices.DeleteFunc(*o, func(f Field) bool { return f.Key == key })
	case at >= 0:
		(*o)[at].Value = value
	default:
		*o = append(*o, Field{key, value})
	}
}

func (o Object) index(key string) int {
	return slices.IndexFunc(o, func(f Field) bool { return f.Key == key })
}

// MarshalJSON implements [json.Marshaler].
func (o Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(f.Key)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), f.Value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Object) UnmarshalJSON(text []byte) error {
	*o = nil
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil || values == nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = d.Token(); err == nil {
			err = d.Decode(&value)
			o.Set(key.(string), value)
		}
	}
	return err
}

// Resolve is the resolved spec of a suite and configurations of it.
func Resolve(s *spec.Suite, configurations []spec.Resolved) (*Resolved, error) {
	r, served := &Resolved{}, &delegatedLoops{}
	var err error
	if r.Suite, err = objectOf(s.Tree.Plain()); err != nil {
		return nil, err
	}
	loops := &source.Object{}
	for i := range configurations {
		loops.Set(configurations[i].Name, served.plain(configurations[i].Loop))
	}
	if r.Configurations, err = objectOf(loops); err == nil {
		r.Delegates, err = objectOf(served.all())
	}
	return r, err
}

// ResolveImport is the resolved spec of imported runs: a suite, the mapping, and the
// loop of each configuration.
func ResolveImport(m *spec.Import, loops []spec.Resolved) (*Resolved, error) {
	models, configurations, all := &source.Object{}, []any{}, &source.Object{}
	for i := range loops {
		name := loops[i].Name
		models.Set(name, source.ObjectOf("provider", "script", "responses", []any{"recorded"}))
		configurations = append(configurations, source.ObjectOf("name", name, "loop", name))
		all.Set(name, loops[i].Loop.Tree.Plain())
	}
	r := &Resolved{Import: &Object{}}
	var err error
	if r.Suite, err = objectOf(source.ObjectOf("suite", m.Name, "tasks", TasksFile, "models", models, "configurations", configurations)); err != nil {
		return nil, err
	}
	if *r.Import, err = objectOf(m.Tree.Plain()); err == nil {
		r.Configurations, err = objectOf(all)
	}
	return r, err
}

// objectOf is a value of a YAML file, which is a map, as JSON.
func objectOf(plain any) (all Object, err error) {
	o, _ := plain.(*source.Object)
	if o == nil {
		return nil, nil
	}
	for i, key := range o.Keys {
		text, err := json.Marshal(o.Values[i])
		if err != nil {
			return nil, fmt.Errorf("writing the spec: %w", err)
		}
		all = append(all, Field{key, text})
	}
	return all, nil
}

// delegatedLoops are those to which others hand tasks. Their files are named from
// elsewhere, so that each gets a name of its own.
type delegatedLoops struct {
	loops []*spec.Loop
	names []string
}

// plain is a loop that names its delegates by those names, which they are given when they
// are seen first.
func (d *delegatedLoops) plain(l *spec.Loop) any {
	plain, served := l.Tree.Plain(), l.Delegated()
	renameDelegates(plain, func(path string) string {
		loop := served[path]
		if loop == nil {
			return path
		}
		at := slices.Index(d.loops, loop)
		if at < 0 {
			at = len(d.loops)
			d.loops, d.names = append(d.loops, loop), append(d.names, freeName("delegate-"+loop.Name, d.names))
		}
		return d.names[at]
	})
	return plain
}

// freeName is a name that is not among others, with a number behind it if need be.
func freeName(base string, taken []string) string {
	name := base
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// all are the loops by their names, with those to which they hand tasks themselves.
func (d *delegatedLoops) all() *source.Object {
	all := &source.Object{}
	for i := 0; i < len(d.loops); i++ { // plain finds more
		all.Set(d.names[i], d.plain(d.loops[i]))
	}
	return all
}

// field is the value of a key of a map; nil where either is missing.
func field(of any, key string) any {
	o, _ := of.(*source.Object)
	if o == nil {
		return nil
	}
	value, _ := o.Get(key)
	return value
}

// ReadResolved reads the resolved spec of a manifest; of one that has none it is
// empty. The error says in the words of YAML what is wrong.
func ReadResolved(m *record.Manifest) (*Resolved, error) {
	r := &Resolved{}
	if len(m.Spec) == 0 { // it is not known how the records came to be
		return r, nil
	}
	if err := decode(m.Spec, r); err != nil {
		return nil, err
	}
	var compact bytes.Buffer // manifests are indented
	if err := json.Compact(&compact, m.Spec); err != nil {
		return nil, fmt.Errorf("reading the resolved spec: %w", err)
	}
	return r, decode(compact.Bytes(), r)
}

// decode reads what is wanted of a resolved spec, numbers as they are written.
func decode(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(into)
	if err == nil {
		return nil
	}
	if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		wanted := cmp.Or(wantedKinds[kind.Type.Kind()], "a number")
		err = fmt.Errorf("%s is %s, want %s", cmp.Or(strings.ToLower(kind.Field), "it"), cmp.Or(jsonKinds[kind.Value], kind.Value), wanted)
	}
	return fmt.Errorf("reading the resolved spec: %w", err)
}

// The kinds of values in the words of YAML, by those of encoding/json and of Go.
var (
	jsonKinds   = map[string]string{"array": "a list", "object": "a map", "string": "a text", "number": "a number", "bool": "true or false"}
	wantedKinds = map[reflect.Kind]string{reflect.Map: "a map", reflect.Struct: "a map", reflect.Slice: "a list", reflect.String: "a text"}
)

// suiteOf decodes what is wanted of a suite, into a struct that has it as its Suite.
func suiteOf(m *record.Manifest, into any) error {
	r, err := ReadResolved(m)
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]Object{"suite": r.Suite})
	if err != nil {
		return err
	}
	return decode(text, into)
}

// Bounds are what a suite says about its results.
type Bounds struct {
	Thresholds []string
	// MinCoverage is the least share of runs that has to count.
	MinCoverage float64
}

// DefaultCoverage is the least share of runs that has to count, where a suite names none.
const DefaultCoverage = 0.95

// BoundsOf are those of the suite of a manifest.
func BoundsOf(m *record.Manifest) (Bounds, error) {
	var of struct {
		Suite struct {
			Thresholds  []any
			MinCoverage *float64 `json:"min_coverage"`
		}
	}
	err := suiteOf(m, &of)
	b := Bounds{MinCoverage: DefaultCoverage}
	for _, t := range of.Suite.Thresholds {
		b.Thresholds = append(b.Thresholds, fmt.Sprint(t)) // YAML takes a bare true for no text
	}
	if of.Suite.MinCoverage != nil {
		b.MinCoverage = *of.Suite.MinCoverage
	}
	return b, err
}

// BudgetOf is the budget of the suite as it was run last, as far as it can be read.
func BudgetOf(m *record.Manifest) *spec.SuiteBudget {
	var of struct {
		Suite struct {
			Budget struct {
				Calls, Tokens int64
				CostUSD       float64 `json:"cost_usd"`
			}
		}
	}
	if suiteOf(m, &of) != nil {
		return &spec.SuiteBudget{}
	}
	b := &of.Suite.Budget
	return &spec.SuiteBudget{Calls: b.Calls, Tokens: b.Tokens, CostUSD: b.CostUSD}
}

// marginsOf are the smallest changes that matter to a suite, by score; nil: it declares
// none.
func marginsOf(m *record.Manifest) (of map[string]float64) {
	r, err := ReadResolved(m)
	if err != nil {
		return nil
	}
	var all float64
	if json.Unmarshal(r.Suite.Get("margin"), &all) == nil {
		return map[string]float64{spec.AllScores: all}
	}
	if json.Unmarshal(r.Suite.Get("margin"), &of) != nil {
		return nil
	}
	return of
}

// TaskDifferences are those between the tasks of a manifest and of a suite; none
// where the manifest is of the log of another tool.
func TaskDifferences(m *record.Manifest, now *spec.Suite) (d Differences, err error) {
	resolved, err := Resolve(now, nil)
	if err != nil {
		return nil, err
	}
	var was, is struct{ Suite struct{ Tasks any } }
	text, err := json.Marshal(resolved)
	if err = errors.Join(err, suiteOf(m, &was)); err == nil {
		err = decode(text, &is)
	}
	if was.Suite.Tasks != nil {
		d.Compare("tasks", was.Suite.Tasks, is.Suite.Tasks)
	}
	return d, err
}

// Plain is what the resolved spec of a manifest holds, whatever its shape; nil where
// it cannot be read.
func Plain(m *record.Manifest) (all any) {
	if decode(m.Spec, &all) != nil {
		return nil
	}
	return all
}

// LeastOutput is the smallest limit of a reply that the resolved spec of a manifest
// declares anywhere; 0: it declares none.
func LeastOutput(m *record.Manifest) (least int64) {
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			for key, element := range v {
				if n, ok := element.(json.Number); ok && key == "max_output_tokens" {
					if tokens, err := n.Int64(); err == nil && tokens > 0 && (least == 0 || tokens < least) {
						least = tokens
					}
				}
				walk(element)
			}
		}
	}
	walk(Plain(m))
	return least
}

// KeepConfigurations adds to a manifest those of the one before it that only former
// sessions ran, with their loops.
func KeepConfigurations(before, m *record.Manifest) error {
	old, err := ReadResolved(before)
	if err != nil {
		return err
	}
	now, err := ReadResolved(m)
	if err != nil {
		return err
	}
	kept := &Resolved{}
	for _, head := range before.Configurations {
		if slices.ContainsFunc(m.Configurations, func(c record.ConfigurationHead) bool { return c.Name == head.Name }) {
			continue
		}
		loop := old.Configurations.Get(head.Name)
		if loop == nil {
			return fmt.Errorf("the resolved spec has no configuration %q, which the manifest names", head.Name)
		}
		m.Configurations = append(m.Configurations, head)
		kept.Configurations.Set(head.Name, loop)
		if head.Name == before.Baseline && m.Baseline == "" {
			m.Baseline = head.Name
		}
	}
	if len(kept.Configurations) > 0 {
		if err := old.keepDelegates(kept, now); err != nil {
			return err
		}
		now.Configurations, now.Delegates = append(now.Configurations, kept.Configurations...), append(now.Delegates, kept.Delegates...)
		if m.Spec, err = json.Marshal(now); err != nil {
			return fmt.Errorf("writing the resolved spec: %w", err)
		}
	}
	m.SpecHash, err = Hash(m)
	return err
}

// keepDelegates gives loops that are kept the delegates that they had, with other
// names where theirs are taken by other loops.
func (r *Resolved) keepDelegates(kept, now *Resolved) error {
	names := map[string]string{}
	var taken []string
	apart := false // a name is that of two loops
	for _, d := range slices.Concat(now.Delegates, r.Delegates) {
		there := now.Delegates.Get(d.Key)
		taken, apart = append(taken, d.Key), apart || there != nil && !bytes.Equal(there, d.Value)
	}
	for _, d := range r.Delegates {
		there := now.Delegates.Get(d.Key) != nil
		if there && !apart {
			continue
		}
		names[d.Key] = d.Key
		if there {
			names[d.Key] = freeName(d.Key, taken)
			taken = append(taken, names[d.Key])
		}
		kept.Delegates.Set(names[d.Key], d.Value)
	}
	for _, loops := range []Object{kept.Configurations, kept.Delegates} {
		for i := range loops {
			tree, faults := source.Parse(source.NewFile("loop", asYAML(loops[i].Value)))
			if err := faults.Err(); err != nil {
				return fmt.Errorf("reading the resolved spec: %w", err)
			}
			plain := tree.Plain()
			renameDelegates(plain, func(name string) string { return cmp.Or(names[name], name) })
			var err error
			if loops[i].Value, err = json.Marshal(plain); err != nil {
				return err
			}
		}
	}
	return nil
}

// renameDelegates calls the loops of a loop's delegates by other names.
func renameDelegates(loop any, name func(path string) string) {
	places := []any{loop}
	for _, key := range []string{"phases", "strategies"} {
		list, _ := field(loop, key).([]any)
		places = append(places, list...)
	}
	for _, place := range places {
		list, _ := field(field(place, "agent"), "delegates").([]any)
		for _, delegate := range list {
			if path, ok := field(delegate, "loop").(string); ok {
				object := delegate.(*source.Object)
				object.Values[slices.Index(object.Keys, "loop")] = name(path)
			}
		}
	}
}

// TakeOverScorers puts into the spec of a manifest the scorers that judge now, of a
// suite; nil: as they were recorded. Whole takes over what goes with all of them.
func TakeOverScorers(m *record.Manifest, now *Resolved, judging []string, whole bool) error {
	r, err := ReadResolved(m)
	if err != nil {
		return err
	}
	edited := now != nil
	if !edited {
		now = &Resolved{}
	}
	if err := r.takeScorers(now, m.Scorers, judging); err != nil {
		return err
	}
	if edited && whole {
		for _, key := range []string{"metrics", "thresholds", "budget"} {
			r.Suite.Set(key, now.Suite.Get(key))
		}
	}
	if err := r.takeModels(now); err != nil {
		return err
	}
	m.Spec, err = json.Marshal(r)
	return err
}

// takeScorers makes the list of scorers: each as the suite has it that judges now,
// else as it was recorded.
func (r *Resolved) takeScorers(now *Resolved, names, judging []string) error {
	var named [2]map[string]json.RawMessage // of what was recorded, and of the suite
	for i, text := range []json.RawMessage{r.Suite.Get("scorers"), now.Suite.Get("scorers")} {
		var list []json.RawMessage
		if text != nil {
			if err := json.Unmarshal(text, &list); err != nil {
				return fmt.Errorf("reading the scorers of the spec: %w", err)
			}
		}
		named[i] = map[string]json.RawMessage{}
		for _, declared := range list {
			var head struct{ Name string }
			if err := json.Unmarshal(declared, &head); err != nil {
				return fmt.Errorf("reading the scorers of the spec: %w", err)
			}
			named[i][head.Name] = declared
		}
	}
	var list []json.RawMessage
	for _, name := range names {
		declared := named[1][name]
		if before := named[0][name]; before != nil && (declared == nil || !slices.Contains(judging, name)) {
			declared = before
		}
		if declared != nil {
			list = append(list, declared)
		}
	}
	if list == nil {
		r.Suite.Set("scorers", nil)
		return nil
	}
	text, err := json.Marshal(list)
	r.Suite.Set("scorers", text)
	return err
}

// takeModels adds the models that the scorers of a suite ask, and replaces those that
// no recorded loop asks.
func (r *Resolved) takeModels(now *Resolved) error {
	var old, current Object
	if now.Suite.Get("models") == nil {
		return nil
	}
	if text := r.Suite.Get("models"); text != nil {
		if err := decode(text, &old); err != nil {
			return err
		}
	}
	if err := decode(now.Suite.Get("models"), &current); err != nil {
		return err
	}
	asked := map[string]bool{}
	for _, loop := range slices.Concat(r.Configurations, r.Delegates) {
		var plain any
		if err := decode(loop.Value, &plain); err != nil {
			return err
		}
		modelsIn(plain, asked)
	}
	for _, model := range current {
		if old.Get(model.Key) == nil || !asked[model.Key] {
			old.Set(model.Key, model.Value)
		}
	}
	text, err := json.Marshal(old)
	r.Suite.Set("models", text)
	return err
}

// modelsIn adds the models that a loop names: under model, and those of its programs under models.
func modelsIn(loop any, names map[string]bool) {
	switch v := loop.(type) {
	case []any:
		for _, element := range v {
			modelsIn(element, names)
		}
	case map[string]any:
		for key, element := range v {
			if name, ok := element.(string); ok && key == "model" {
				names[name] = true
			}
			if served, ok := element.(map[string]any); ok && key == "models" {
				for _, name := range served {
					names[fmt.Sprint(name)] = true
				}
			}
			modelsIn(element, names)
		}
	}
}

// Keys that change which runs are made, how fast, or how they are judged
// together, but nothing within a run. They may differ between the sessions that
// fill one result folder. Folders and data files are compared by their content,
// configurations after their parameters were set, prices as they stand at each model.
var (
	freeSuiteKeys = []string{"budget", "concurrency", "min_coverage", "thresholds", "metrics", "baseline", "margin", "tune", "prices", "trials", "seed", "roots", "configurations"}
	freeModelKeys = []string{"api_key_env", "timeout", "first_byte_timeout", "idle_timeout", "retries", "rpm", "tpm", "max_parallel", "stream"}
)

// Binding is what all runs of a result folder have to have in common.
type Binding struct {
	Suite          map[string]any    `json:"suite"`
	Configurations map[string]any    `json:"-"` // for messages: their hashes count
	Loops          map[string]string `json:"loops"`
	Data           map[string]string `json:"data"`
	Seed           int64             `json:"seed"`
}

func BindingOf(m *record.Manifest) (*Binding, error) {
	b := &Binding{Loops: map[string]string{}, Data: map[string]string{}, Seed: m.Seed}
	var resolved struct{ Suite, Configurations map[string]any }
	if err := decode(m.Spec, &resolved); err != nil {
		return nil, err
	}
	b.Suite, b.Configurations = resolved.Suite, resolved.Configurations
	without(b.Suite, freeSuiteKeys)
	models, _ := b.Suite["models"].(map[string]any)
	for _, model := range models {
		declared, _ := model.(map[string]any)
		without(declared, freeModelKeys)
	}
	for i := range m.Configurations {
		b.Loops[m.Configurations[i].Name] = m.Configurations[i].Loop
	}
	for _, file := range m.Data {
		b.Data[file.Name] = file.Hash
	}
	return b, nil
}

func without(object map[string]any, keys []string) {
	maps.DeleteFunc(object, func(key string, _ any) bool { return slices.Contains(keys, key) })
}

// Hash identifies what all runs of a result folder have in common, whatever
// the layout and the comments of the files that it was written in.
func Hash(m *record.Manifest) (string, error) {
	b, err := BindingOf(m)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(b) // the keys of maps in their order
	if err != nil {
		return "", fmt.Errorf("hashing the spec: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// DifferencesBetween are what differs between the specs of two manifests, within
// the runs of configurations that both have.
func DifferencesBetween(before, now *record.Manifest) (Differences, error) {
	old, err := BindingOf(before)
	if err != nil {
		return nil, err
	}
	current, err := BindingOf(now)
	if err != nil {
		return nil, err
	}
	var d Differences
	d.Around(old, current)
	for _, name := range keysOf(old.Loops, current.Loops) {
		_, had := old.Loops[name]
		if _, has := current.Loops[name]; had && has { // more of them, or fewer, change nothing within a run
			d.Loops(old, current, name, name)
		}
	}
	return d, nil
}

// Programs compares the versions of the coding agents of two configurations. One that is not
// known is no difference.
func (d *Differences) Programs(before, now *record.ConfigurationHead) {
	if before == nil || now == nil {
		return
	}
	was, is := versions(before), versions(now)
	for _, program := range slices.Sorted(maps.Keys(is)) {
		if known := was[program]; known != nil && !slices.Equal(known, is[program]) {
			d.add(programPath(now.Name, program), strings.Join(known, ", "), strings.Join(is[program], ", "), "")
		}
	}
}

// programPath is where the version of a coding agent stands among the paths of a spec.
func programPath(configuration, program string) string {
	return "configurations." + configuration + ".programs." + program
}

// versions are those of each coding agent of a configuration.
func versions(head *record.ConfigurationHead) map[string][]string {
	all := map[string][]string{}
	for _, p := range head.Programs {
		all[p.Program] = append(all[p.Program], p.Version)
	}
	return all
}

// allPrograms compares the versions of configurations that both manifests have.
func (d *Differences) allPrograms(before, now *record.Manifest) {
	for i := range now.Configurations {
		was, _ := before.Configuration(now.Configurations[i].Name)
		d.Programs(was, &now.Configurations[i])
	}
}

// addPrograms keeps the versions that made the runs of a folder so far, in front of the ones of now.
// What is to be resumed is compared with the latest.
func addPrograms(before, now *record.ConfigurationHead) {
	kept := slices.DeleteFunc(slices.Clone(before.Programs), func(p record.ProgramHead) bool { return slices.Contains(now.Programs, p) })
	now.Programs = append(kept, now.Programs...)
}

// Difference is a place at which two specs differ; nil is what is not there.
type Difference struct {
	Path      string
	Base, New any
	// What says how they differ, where the values do not.
	What string
}

type Differences []Difference

func (d *Differences) add(path string, base, new any, what string) {
	*d = append(*d, Difference{path, base, new, what})
}

// Line is "path: what differs".
func (d *Difference) Line() string {
	if d.What != "" {
		return d.Path + ": " + d.What
	}
	was, is := d.Values()
	return d.Path + ": " + cmp.Or(was, "absent") + " -> " + cmp.Or(is, "absent")
}

// Values are both values as JSON, long ones in excerpts; "" is what is not
// there.
func (d *Difference) Values() (was, is string) {
	was, is = lineOf(d.Base), lineOf(d.New)
	return excerpt(was, is), excerpt(is, was)
}

// Around compares all but the configurations.
func (d *Differences) Around(old, current *Binding) {
	d.Compare("", old.Suite, current.Suite)
	for _, name := range keysOf(old.Data, current.Data) {
		was, is := old.Data[name], current.Data[name]
		switch {
		case was == is:
		case was == "" || is == "":
			there := map[bool]any{true: "a file"} // no more than that
			d.add(name, there[was != ""], there[is != ""], "")
		default:
			d.add(name, nil, nil, "its content has changed")
		}
	}
	d.Compare("seed", old.Seed, current.Seed)
}

// Loops compares a configuration with another one, which may have another name.
func (d *Differences) Loops(old, current *Binding, was, is string) {
	if old.Loops[was] == current.Loops[is] {
		return
	}
	path := "configurations." + is
	found := len(*d)
	d.Compare(path, old.Configurations[was], current.Configurations[is])
	if len(*d) == found {
		d.add(path, nil, nil, "a file that its programs are given has changed")
	}
}

// Compare walks two values side by side.
func (d *Differences) Compare(path string, old, current any) {
	oldMap, isMap := old.(map[string]any)
	currentMap, areMaps := current.(map[string]any)
	if isMap && areMaps {
		for _, key := range keysOf(oldMap, currentMap) {
			d.Compare(strings.TrimPrefix(path+"."+key, "."), oldMap[key], currentMap[key])
		}
		return
	}
	oldList, isList := old.([]any)
	currentList, areLists := current.([]any)
	if isList && areLists {
		d.lists(path, oldList, currentList)
		return
	}
	if lineOf(old) != lineOf(current) {
		d.add(path, old, current, "")
	}
}

// lists compares entries of the same name; where not all have one of their own,
// those of the same place.
func (d *Differences) lists(path string, old, current []any) {
	oldNamed, named := byName(old)
	currentNamed, areNamed := byName(current)
	if named && areNamed {
		for _, name := range keysOf(oldNamed, currentNamed) {
			d.Compare(path+"."+name, oldNamed[name], currentNamed[name])
		}
		return
	}
	for i := range max(len(old), len(current)) {
		var was, is any
		if i < len(old) {
			was = old[i]
		}
		if i < len(current) {
			is = current[i]
		}
		d.Compare(path+"."+strconv.Itoa(i+1), was, is)
	}
}

// byName are the entries of a list by their names or ids. Tools that
// are built in are called by what they are, a server without a name mcp.
func byName(list []any) (named map[string]any, ok bool) {
	named = map[string]any{}
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		name := ""
		for _, key := range []string{"name", "id", "builtin"} {
			if text, ok := fields[key].(string); ok {
				name = text
				break
			}
		}
		if _, isServer := fields["mcp"]; isServer && name == "" {
			name = "mcp"
		}
		if _, twice := named[name]; twice || name == "" {
			return nil, false
		}
		named[name] = entry
	}
	return named, true
}

// lineOf is a value as JSON on one line, "" for nil.
func lineOf(value any) string {
	if value == nil {
		return ""
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(b.String())
}

// excerpt is the part of a text that shows how it differs from another one: of a long one
// some characters, a few of them before the place where it begins to differ.
func excerpt(text, other string) string {
	const longest, before = 60, 12
	runes, others := []rune(text), []rune(other)
	same := 0
	for same < len(runes) && same < len(others) && runes[same] == others[same] {
		same++
	}
	if from := same - before; from > 0 && len(runes) > longest {
		runes = append([]rune{'…'}, runes[from:]...)
	}
	if len(runes) > longest {
		runes = append(runes[:longest:longest], '…')
	}
	return string(runes)
}

// keysOf are the keys of both maps, sorted.
func keysOf[V any](one, other map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(other))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Paths yields all paths that a spec has: those of its loops also as they stand
// in the loop.
func (b *Binding) Paths(yield func(path string)) {
	eachPath("", b.Suite, yield)
	eachPath("configurations", b.Configurations, yield)
	for _, loop := range b.Configurations {
		eachPath("", loop, yield)
	}
	for name := range b.Data {
		yield(name)
	}
	yield("seed")
}

// eachPath yields the path of a value and of all within it, as Compare does.
func eachPath(path string, value any, yield func(path string)) {
	if path != "" {
		yield(path)
	}
	fields, _ := value.(map[string]any)
	list, isList := value.([]any)
	if named, ok := byName(list); isList && ok {
		fields = named
	} else {
		for i := range list {
			eachPath(path+"."+strconv.Itoa(i+1), list[i], yield)
		}
	}
	for key, field := range fields {
		eachPath(strings.TrimPrefix(path+"."+key, "."), field, yield)
	}
}
