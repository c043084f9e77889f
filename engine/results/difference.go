package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

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
	Suite map[string]any    `json:"suite"`
	Loops map[string]string `json:"loops"` // the hashes of configurations
	Data  map[string]string `json:"data"`
	Seed  int64             `json:"seed"`

	suite  *spec.Suite
	redact func([]byte) []byte
}

// Binding is that of the runs of a manifest, which are of a suite. Secrets are taken out of what it shows: a new key is no
// other suite.
func (w Writer) Binding(suite *spec.Suite, m *record.Manifest) (*Binding, error) {
	b := &Binding{Loops: map[string]string{}, Data: map[string]string{}, Seed: m.Seed, suite: suite, redact: w.Redact}
	all, _ := suite.Tree.Plain().(*source.Object)
	if all == nil {
		all = &source.Object{}
	}
	kept := &source.Object{}
	for i, key := range all.Keys {
		if !slices.Contains(freeSuiteKeys, key) {
			kept.Set(key, all.Values[i])
		}
	}
	var scorers []any
	for i := range suite.Scorers {
		scorers = append(scorers, suite.Scorers[i].Node.Plain())
	}
	models := &source.Object{}
	for _, model := range suite.Models {
		models.Set(model.Key, model.Value.Node.Plain())
	}
	kept.Set("scorers", scorers)
	kept.Set("models", models)
	plain, err := b.plain(kept)
	if err != nil {
		return nil, err
	}
	b.Suite, _ = plain.(map[string]any)
	maps.DeleteFunc(b.Suite, func(_ string, value any) bool { return value == nil })
	declared, _ := b.Suite["models"].(map[string]any)
	for _, model := range declared {
		if keys, ok := model.(map[string]any); ok {
			maps.DeleteFunc(keys, func(key string, _ any) bool { return slices.Contains(freeModelKeys, key) })
		}
	}
	for i := range m.Configurations {
		b.Loops[m.Configurations[i].Name] = m.Configurations[i].Loop
	}
	for _, file := range m.Data {
		b.Data[file.Name] = file.Hash
	}
	return b, nil
}

// plain is a value of a YAML file as JSON has it, without secrets, and with numbers as they are written.
func (b *Binding) plain(value any) (plain any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("comparing the specs: %w", err)
	}
	if b.redact != nil {
		text = b.redact(text)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("comparing the specs: %w", err)
	}
	return plain, nil
}

// configuration is the loop of a configuration; nil without one.
func (b *Binding) configuration(name string) any {
	c := b.suite.Configuration(name)
	if c == nil {
		return nil
	}
	plain, _ := b.plain(c.Loop.Tree.Plain()) // a tree that was loaded can be written
	return plain
}

// Hash identifies what all runs of a result folder have in common, whatever
// the layout and the comments of the files that it was written in.
func (b *Binding) Hash() (string, error) {
	text, err := json.Marshal(b) // the keys of maps in their order
	if err != nil {
		return "", fmt.Errorf("hashing the spec: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// DifferencesBetween are what differs between two suites, within the runs of configurations that both have.
func DifferencesBetween(old, current *Binding) (d Differences) {
	d.Around(old, current)
	for _, name := range keysOf(old.Loops, current.Loops) {
		_, had := old.Loops[name]
		if _, has := current.Loops[name]; had && has { // more of them, or fewer, change nothing within a run
			d.Loops(old, current, name, name)
		}
	}
	return d
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
	d.Compare(path, old.configuration(was), current.configuration(is))
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
	for name := range b.Loops {
		eachPath("configurations."+name, b.configuration(name), yield)
		eachPath("", b.configuration(name), yield)
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
