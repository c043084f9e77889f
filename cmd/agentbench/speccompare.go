package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// Keys that change which runs are made, how fast, or how they are judged
// together, but nothing within a run. They may differ between the sessions that
// fill one result folder. Folders and data files are compared by their content,
// configurations after their parameters were set, prices as they stand at each model.
var (
	freeSuiteKeys = []string{"budget", "concurrency", "min_coverage", "thresholds", "baseline", "margin", "tune", "prices", "trials", "seed", "roots", "configurations"}
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
	decoder := json.NewDecoder(bytes.NewReader(m.Spec))
	decoder.UseNumber()
	var resolved struct{ Suite, Configurations map[string]any }
	if err := decoder.Decode(&resolved); err != nil {
		return nil, fmt.Errorf("reading the resolved spec: %w", err)
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

// specDifferences says in a line each what differs between the specs of two
// manifests.
func specDifferences(before, now *record.Manifest) ([]string, error) {
	old, err := bindingOf(before)
	if err != nil {
		return nil, err
	}
	current, err := bindingOf(now)
	if err != nil {
		return nil, err
	}
	var d differences
	d.compare("", old.Suite, current.Suite)
	d.loops(old, current)
	for _, name := range keysOf(old.Data, current.Data) {
		if old.Data[name] != current.Data[name] {
			d.add(name, "its content has changed")
		}
	}
	if old.Seed != current.Seed {
		d.compare("seed", old.Seed, current.Seed)
	}
	return d, nil
}

// differences are lines of "path: what differs".
type differences []string

func (d *differences) add(path, what string) { *d = append(*d, printable(path+": "+what)) }

// loops compares the configurations that are in both and have different loops.
// More of them, or fewer, make no difference within a run.
func (d *differences) loops(old, current *binding) {
	for _, name := range keysOf(old.Loops, current.Loops) {
		was, before := old.Loops[name]
		is, now := current.Loops[name]
		if !before || !now || was == is {
			continue
		}
		found := len(*d)
		d.compare("configurations."+name, old.Configurations[name], current.Configurations[name])
		if len(*d) == found {
			d.add("configurations."+name, "a file that its programs are given has changed")
		}
	}
}

// compare walks two values side by side; nil is what is not there.
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
		for i := range max(len(oldList), len(currentList)) {
			was, is := at(oldList, i), at(currentList, i)
			d.compare(path+"."+entryName(was, is, i), was, is)
		}
		return
	}
	if was, is := lineOf(old), lineOf(current); was != is {
		d.add(path, excerpt(was, is)+" -> "+excerpt(is, was))
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// entryName is what a list's entry is called: the name or id that both have,
// else its number from 1.
func entryName(was, is any, i int) string {
	old, _ := was.(map[string]any)
	current, _ := is.(map[string]any)
	for _, key := range []string{"name", "id"} {
		if name, ok := old[key].(string); ok && (current == nil || current[key] == name) {
			return name
		}
	}
	return strconv.Itoa(i + 1)
}

// lineOf is a value as JSON on one line.
func lineOf(value any) string {
	if value == nil {
		return "absent"
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
