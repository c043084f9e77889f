package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhatShardsLack(t *testing.T) {
	done := func(number int) Shard {
		return Shard{Number: number, Tasks: 10, Runs: 20, Done: 20, Status: StateComplete}
	}
	half := Shard{Number: 2, Tasks: 10, Runs: 20, Done: 7, Status: StateStopped}
	for _, c := range []struct {
		name    string
		shards  *Shards
		missing []int
		want    string
	}{
		{"a suite that was not dealt", nil, nil, ""},
		{"all", &Shards{Of: 2, Tasks: 20, Held: []Shard{done(1), done(2)}}, nil, ""},
		{"one", &Shards{Of: 3, Tasks: 30, Held: []Shard{done(2)}}, []int{1, 3}, "only shard 2 of 3, with 10 of 30 tasks"},
		{"two, one of them unfinished", &Shards{Of: 3, Tasks: 30, Held: []Shard{done(1), half}}, []int{3}, "only shards 1 and 2 of 3, with 20 of 30 tasks; shard 2 did 7 of 20 runs"},
		{"all, one of them unfinished", &Shards{Of: 2, Tasks: 20, Held: []Shard{done(1), half}}, nil, "shard 2 did 7 of 20 runs"},
	} {
		if got := c.shards.Incomplete(); got != c.want || c.shards.Whole() != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.shards != nil && !slices.Equal(c.shards.Missing(), c.missing) {
			t.Errorf("%s: %v, want %v", c.name, c.shards.Missing(), c.missing)
		}
	}
}

func TestShardNumbers(t *testing.T) {
	for want, numbers := range map[string][]int{
		"shard 7": {7}, "shards 1 and 2": {1, 2}, "shards 1, 3 and 4": {1, 3, 4},
		"shards 1, 2, 3, 4, 5, 6, 7, 8 and 2 more": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	} {
		if got := ShardNumbers(numbers); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestManifestsOfShardsThatCannotBeAreRefused(t *testing.T) {
	for name, shards := range map[string]Shards{
		"none": {Of: 2}, "twice": {Of: 2, Held: []Shard{{Number: 1}, {Number: 1}}}, "zero": {Of: 2, Held: []Shard{{}}},
		"beyond the last": {Of: 2, Held: []Shard{{Number: 3}}}, "too many": {Of: 1e9, Held: []Shard{{Number: 1}}},
	} {
		dir := t.TempDir()
		text, err := encodeManifest(&Manifest{Volatile: ManifestVolatile{Shards: &shards}}, nil)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManifest(dir); err == nil || !strings.HasSuffix(err.Error(), "manifest.json tells of shards that cannot be") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
