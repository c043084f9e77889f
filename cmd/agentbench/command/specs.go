package command

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
	"github.com/agentbench/agentbench/reports/page"
)

// readSpec reads what is wanted of the resolved spec in a manifest, numbers as
// they are written. The error says in the words of YAML what is wrong.
func readSpec(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("reading the resolved spec: %s is %s, want %s", cmp.Or(strings.ToLower(kind.Field), "it"), cmp.Or(jsonKinds[kind.Value], kind.Value), wantedKind(kind.Type.Kind()))
	case err != nil:
		return fmt.Errorf("reading the resolved spec: %w", err)
	}
	return nil
}

// jsonKinds are the kinds of values, by the words of encoding/json.
var jsonKinds = map[string]string{"array": "a list", "object": "a map", "string": "a text", "number": "a number", "bool": "true or false"}

func wantedKind(k reflect.Kind) string {
	switch k {
	case reflect.Map, reflect.Struct:
		return "a map"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a text"
	}
	return "a number"
}

// Keys that change which runs are made, how fast, or how they are judged
// together, but nothing within a run. They may differ between the sessions that
// fill one result folder. Folders and data files are compared by their content,
// configurations after their parameters were set, prices as they stand at each model.
var (
	freeSuiteKeys = []string{"budget", "concurrency", "min_coverage", "thresholds", "metrics", "baseline", "margin", "tune", "prices", "trials", "seed", "roots", "configurations"}
	freeModelKeys = []string{"api_key_env", "timeout", "first_byte_timeout", "idle_timeout", "retries", "rpm", "tpm", "max_parallel", "stream"}
)

// binding is what all runs of a result folder have to have in common.
type binding struct {
	Suite          map[string]any    `json:"suite"`
	Configurations map[string]any    `json:"-"` // for messages: their hashes count
	Loops          map[string]string `json:"loops"`
	Data           map[string]string `json:"data"`
	Seed           int64             `json:"seed"`
}

func bindingOf(m *record.Manifest) (*binding, error) {
	b := &binding{Loops: map[string]string{}, Data: map[string]string{}, Seed: m.Seed}
	var resolved struct{ Suite, Configurations map[string]any }
	if err := readSpec(m.Spec, &resolved); err != nil {
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

// specHash identifies what all runs of a result folder have in common, whatever
// the layout and the comments of the files that it was written in.
func specHash(m *record.Manifest) (string, error) {
	b, err := bindingOf(m)
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

// specDifferences are what differs between the specs of two manifests, within
// the runs of configurations that both have.
func specDifferences(before, now *record.Manifest) (differences, error) {
	old, err := bindingOf(before)
	if err != nil {
		return nil, err
	}
	current, err := bindingOf(now)
	if err != nil {
		return nil, err
	}
	var d differences
	d.around(old, current)
	for _, name := range keysOf(old.Loops, current.Loops) {
		_, had := old.Loops[name]
		if _, has := current.Loops[name]; had && has { // more of them, or fewer, change nothing within a run
			d.loops(old, current, name, name)
		}
	}
	return d, nil
}

// difference is a place at which two specs differ; nil is what is not there.
type difference struct {
	path      string
	base, new any
	// what says how they differ, where the values do not.
	what string
}

type differences []difference

func (d *differences) add(path string, base, new any, what string) {
	*d = append(*d, difference{path, base, new, what})
}

// line is "path: what differs".
func (d *difference) line() string {
	if d.what != "" {
		return page.Visible(d.path + ": " + d.what)
	}
	was, is := d.values()
	return page.Visible(d.path + ": " + cmp.Or(was, "absent") + " -> " + cmp.Or(is, "absent"))
}

func (d differences) lines() (lines []string) {
	for i := range d {
		lines = append(lines, d[i].line())
	}
	return lines
}

// values are both values as JSON, long ones in excerpts; "" is what is not
// there.
func (d *difference) values() (was, is string) {
	was, is = lineOf(d.base), lineOf(d.new)
	return excerpt(was, is), excerpt(is, was)
}

// around compares all but the configurations.
func (d *differences) around(old, current *binding) {
	d.compare("", old.Suite, current.Suite)
	for _, name := range keysOf(old.Data, current.Data) {
		was, is := old.Data[name], current.Data[name]
		switch {
		case was == is:
		case was == "" || is == "":
			d.add(name, presence(was), presence(is), "")
		default:
			d.add(name, nil, nil, "its content has changed")
		}
	}
	d.compare("seed", old.Seed, current.Seed)
}

// presence tells of a file only that it is there.
func presence(hash string) any {
	if hash == "" {
		return nil
	}
	return "a file"
}

// loops compares a configuration with another one, which may have another name.
func (d *differences) loops(old, current *binding, was, is string) {
	if old.Loops[was] == current.Loops[is] {
		return
	}
	path := "configurations." + is
	found := len(*d)
	d.compare(path, old.Configurations[was], current.Configurations[is])
	if len(*d) == found {
		d.add(path, nil, nil, "a file that its programs are given has changed")
	}
}

// compare walks two values side by side.
func (d *differences) compare(path string, old, current any) {
	oldMap, isMap := old.(map[string]any)
	currentMap, areMaps := current.(map[string]any)
	if isMap && areMaps {
		for _, key := range keysOf(oldMap, currentMap) {
			d.compare(strings.TrimPrefix(path+"."+key, "."), oldMap[key], currentMap[key])
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
func (d *differences) lists(path string, old, current []any) {
	oldNamed, named := byName(old)
	currentNamed, areNamed := byName(current)
	if named && areNamed {
		for _, name := range keysOf(oldNamed, currentNamed) {
			d.compare(path+"."+name, oldNamed[name], currentNamed[name])
		}
		return
	}
	for i := range max(len(old), len(current)) {
		d.compare(path+"."+strconv.Itoa(i+1), at(old, i), at(current, i))
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// byName are the entries of a list by their names or ids.
func byName(list []any) (named map[string]any, ok bool) {
	named = map[string]any{}
	for _, entry := range list {
		name := entryName(entry)
		if _, twice := named[name]; twice || name == "" {
			return nil, false
		}
		named[name] = entry
	}
	return named, true
}

// entryName is the name or id of a list's entry, "" where it has none. Tools that
// are built in are called by what they are, a server without a name mcp.
func entryName(entry any) string {
	fields, _ := entry.(map[string]any)
	for _, key := range []string{"name", "id", "builtin"} {
		if name, ok := fields[key].(string); ok {
			return name
		}
	}
	if _, isServer := fields["mcp"]; isServer {
		return "mcp"
	}
	return ""
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

// Of a long value, so many characters are shown, a few of them before the place
// where it begins to differ.
const (
	longestExcerpt = 60
	beforeExcerpt  = 12
)

// excerpt is the part of a text that shows how it differs from another one.
func excerpt(text, other string) string {
	runes, others := []rune(text), []rune(other)
	same := 0
	for same < len(runes) && same < len(others) && runes[same] == others[same] {
		same++
	}
	if from := same - beforeExcerpt; from > 0 && len(runes) > longestExcerpt {
		runes = append([]rune{'…'}, runes[from:]...)
	}
	if len(runes) > longestExcerpt {
		runes = append(runes[:longestExcerpt:longestExcerpt], '…')
	}
	return string(runes)
}

// keysOf are the keys of both maps, sorted.
func keysOf[V any](one, other map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(other))
	slices.Sort(keys)
	return slices.Compact(keys)
}
