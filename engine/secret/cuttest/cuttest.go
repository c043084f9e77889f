// Package cuttest has LeavesNoPart, which fails a test where what shortens texts leaves a part of a key: a redactor would not know it.
//
// It is no stable API.
package cuttest

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/secret"
)

// Key is a value in use. Nothing but its value tells that it is a key.
const Key = "opensesame-0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ-abcdefghijklmnopqrstuvwxyz-9876543210-opensesame"

// LeavesNoPart cuts texts that have the key at any place up to one, and looks for parts of it once it is redacted.
func LeavesNoPart(t *testing.T, upTo int, cutters map[string]func(string) string) {
	t.Helper()
	secrets := secret.New(Key)
	filling := strings.Repeat("so it said ", upTo/10+200)
	for name, cut := range cutters {
		shortened := false
		for at := range upTo {
			text := Key + " " + filling
			if at > 0 {
				text = filling[:at-1] + " " + text
			}
			short := cut(text)
			shortened = shortened || len(short) < len(text)
			if left := secrets.String(short); strings.Contains(left, Key[:6]) {
				t.Errorf("%s: a key at %d leaves %q", name, at, left)
				break
			}
		}
		if !shortened {
			t.Errorf("%s shortens nothing", name)
		}
	}
}
