package results

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/spectest"
)

// Paths and configurations may both hold colons: the path is the shortest that is there.
func TestPlacesArePartedAtTheFirstPathThatIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "a:b", "main.jsonl"} {
		spectest.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for text, want := range map[string][2]string{
		at("a"):       {at("a"), ""},
		at("a:b"):     {at("a:b"), ""},
		at("a:b:c"):   {at("a"), "b:c"},
		"main":        {at("main.jsonl"), ""},
		"main:x":      {at("main.jsonl"), "x"},
		"neither:x":   {"neither:x", ""},
		at("missing"): {at("missing"), ""},
	} {
		path, configuration := SplitPlace(text, dir)
		if got := [2]string{path, configuration}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func placeOf(configuration string, names ...string) *Place {
	p := &Place{Configuration: configuration, Results: &record.Results{}}
	for _, name := range names {
		p.Manifest.Configurations = append(p.Manifest.Configurations, record.ConfigurationHead{Name: name, Aliases: []string{"also-" + name}})
	}
	return p
}

func TestConfigurationsOfOneNameAreCompared(t *testing.T) {
	for _, c := range []struct {
		base, newest *Place
		want         [][2]string
	}{
		{placeOf("", "a", "b"), placeOf("", "b", "c"), [][2]string{{"b", "b"}}},
		{placeOf("", "a"), placeOf("", "z"), [][2]string{{"a", "z"}}},
		{placeOf("also-a", "a", "b"), placeOf("c", "b", "c"), [][2]string{{"a", "c"}}},
		{placeOf("", "a", "b"), placeOf("", "c", "d"), nil},
	} {
		if got := Couples(c.base, c.newest); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", Names(&c.base.Manifest), Names(&c.newest.Manifest), got, c.want)
		}
	}
}

func part(dir string, number int, status record.State) record.Part {
	return record.Part{Dir: dir, Manifest: record.Manifest{SpecHash: "h", Volatile: record.ManifestVolatile{
		Shards: &record.Shards{Of: 2, Partition: "d", Tasks: 4, Held: []record.Shard{{Number: number, Tasks: 2, Runs: 2, Done: 2, Status: status}}},
	}}}
}

func TestShardsAreMergedOnceAndWhole(t *testing.T) {
	for name, c := range map[string]struct {
		parts      []record.Part
		incomplete bool
		code       int
	}{
		"both":            {parts: []record.Part{part("a", 1, record.StateComplete), part("b", 2, record.StateComplete)}},
		"one twice":       {parts: []record.Part{part("a", 1, record.StateComplete), part("b", 1, record.StateComplete)}, code: exit.WrongUsage},
		"one missing":     {parts: []record.Part{part("a", 1, record.StateComplete)}, code: exit.NotMeasured},
		"allowed":         {parts: []record.Part{part("a", 1, record.StateComplete)}, incomplete: true},
		"one unfinished":  {parts: []record.Part{part("a", 1, record.StateComplete), part("b", 2, record.StateStopped)}, code: exit.NotMeasured},
		"of another seed": {parts: []record.Part{part("a", 1, record.StateComplete), {Dir: "b", Manifest: record.Manifest{SpecHash: "h", Suite: "other", Volatile: part("b", 2, record.StateComplete).Manifest.Volatile}}}, code: exit.WrongSpec},
	} {
		code := 0
		var f *exit.Error
		if err := Mergeable(c.parts, c.incomplete); errors.As(err, &f) {
			code = f.Code
		} else if err != nil {
			t.Error(err)
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", name, code, c.code)
		}
	}
}

func TestMarginsOfTheCommandLine(t *testing.T) {
	r := &record.Results{Manifest: record.Manifest{Scorers: []string{"close"}}}
	got, err := MarginsOver([]string{"close=5%", "0", "10%"}, r)
	if want := (Margins{"scores": 0, "amounts": 0.1, "close": 0.05}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if none := got.Take("scores"); none != -1 || len(got) != 2 {
		t.Errorf("a margin of 0 is %v, and %v are left", none, got)
	}
	for _, wrong := range []string{"far=0.1", "2", "x", "-0.1"} {
		if _, err := MarginsOver([]string{wrong}, r); err == nil {
			t.Errorf("--margin %s is taken", wrong)
		}
	}
}
