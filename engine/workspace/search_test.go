package workspace

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestSearchesFindWhatStatesHold(t *testing.T) {
	const wanted, of = "opensesame", "a state"
	most := int64(4 << 20)
	for name, c := range map[string]struct {
		seed, files map[string]string
		found, all  bool
	}{
		"nothing":              {nil, map[string]string{"a": "open", "b": "sesame"}, false, true},
		"a text":               {nil, map[string]string{"a": of, "b": of + wanted}, true, true},
		"a binary file":        {nil, map[string]string{"a": "\x00\x01" + wanted}, true, true},
		"behind a large file":  {nil, map[string]string{"a": strings.Repeat("a", 2<<20), "b": wanted}, true, true},
		"where chunks meet":    {nil, map[string]string{"a": strings.Repeat("a", chunkSize-3) + wanted + strings.Repeat("b", chunkSize)}, true, true},
		"behind a hole":        {nil, map[string]string{"a": strings.Repeat("\x00", 2*chunkSize) + wanted}, true, true},
		"of the seed":          {map[string]string{"a": wanted}, map[string]string{"a": wanted}, false, true},
		"too much":             {nil, map[string]string{"a": strings.Repeat("a", 5<<20), "b": wanted}, false, false},
		"the seed is too much": {map[string]string{"a": strings.Repeat("a", 5<<20)}, map[string]string{"a": strings.Repeat("a", 5<<20), "b": wanted}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			f := began(t, s, Options{}, c.seed)
			seed := snapshot(t, f).Tree.ID
			write(t, f.Dir, c.files)
			state := snapshot(t, f).Tree.ID
			read := 0
			search := &Search{Store: s, Longest: len(wanted), Most: most, Holds: func(b []byte) bool { read += len(b); return bytes.Contains(b, []byte(wanted)) }}
			for range 2 {
				found, all, err := search.Find(context.Background(), []ID{seed}, []ID{seed, state})
				if err != nil || found != c.found || all != c.all {
					t.Errorf("got %v, %v, %v", found, all, err)
				}
			}
			if size := 0; c.all && !c.found {
				for name, text := range c.files {
					if c.seed[name] == "" {
						size += len(text) + min(len(text), len(wanted)-1)
					}
				}
				if read != size {
					t.Errorf("%d bytes were looked at, want %d", read, size)
				}
			}
		})
	}
}
