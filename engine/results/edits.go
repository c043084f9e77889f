package results

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agentbench/agentbench/spec"
)

// SuiteState is what the runs of a suite depend on, at one moment.
type SuiteState struct {
	Files []string // that the suite is read from, or names
	// programs are the texts of files that only are named, such as the script of an agent; rest is the suite without
	// configurations and tasks, "" where it could not be read.
	programs, rest        string
	configurations, tasks map[string]string
}

// StateOf reads the state of a suite, with the first tasks up to a limit of those that are wanted; none wanted, no limit:
// all. Where the tasks cannot be read, it has the files that are known.
func StateOf(d *spec.Document, wanted []string, limit int) (*SuiteState, error) {
	s := &SuiteState{configurations: map[string]string{}, tasks: map[string]string{}}
	for i := range d.Files {
		s.Files = append(s.Files, filepath.FromSlash(d.Files[i].Name))
	}
	data, _ := d.DataFiles()
	for _, file := range data {
		s.Files = append(s.Files, filepath.Join(d.Dir(), file.Name))
	}
	for task, err := range d.Tasks() {
		if err != nil {
			return s, err
		}
		if len(wanted) > 0 && !slices.Contains(wanted, task.ID) {
			continue
		}
		text, _ := json.Marshal(task)
		s.tasks[task.ID] = string(text)
		if len(s.tasks) == limit {
			break
		}
	}
	resolved, err := Resolve(d.Suite, d.Suite.Resolved)
	if err != nil {
		return s, nil
	}
	for _, c := range resolved.Configurations {
		text, _ := json.Marshal(c.Value)
		s.configurations[c.Key] = string(text)
	}
	rest := slices.DeleteFunc(slices.Clone(resolved.Suite), func(f Field) bool { return f.Key == "configurations" || f.Key == "tasks" })
	text, _ := json.Marshal(rest)
	delegates, _ := json.Marshal(resolved.Delegates)
	s.rest = string(text) + string(delegates)
	whole, _ := json.Marshal(resolved)
	words := strings.FieldsFunc(string(whole), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"',;()=`, r) })
	slices.Sort(words)
	for _, word := range slices.Compact(words) { // those that name files in its folder
		path := filepath.Join(d.Dir(), word)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || slices.Contains(s.Files, path) {
			continue
		}
		text, _ := os.ReadFile(path)
		s.Files, s.programs = append(s.Files, path), s.programs+path+fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return s, nil
}

// Stamps tell the files from what they were before.
func (s *SuiteState) Stamps() map[string]string {
	stamps := map[string]string{}
	for _, path := range s.Files {
		stamps[path] = stampOf(os.Stat(path))
	}
	return stamps
}

// Since says what is new since a state: tasks and, of those that are wanted, configurations, none wanted: of all; rest
// where anything else is, or where the suite cannot be read.
func (s *SuiteState) Since(last *SuiteState, wanted []string) (tasks, configurations []string, rest bool) {
	if s.rest == "" || last.rest != s.rest || last.programs != s.programs {
		return nil, nil, true
	}
	changed := func(before, now map[string]string, wanted []string) (names []string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if was, ok := before[name]; (!ok || was != now[name]) && (len(wanted) == 0 || slices.Contains(wanted, name)) {
				names = append(names, name)
			}
		}
		return names
	}
	return changed(last.tasks, s.tasks, nil), changed(last.configurations, s.configurations, wanted), false
}
