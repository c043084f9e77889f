package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// A resolved spec of another shape is told in the words of YAML, whoever reads it.
func TestSpecsOfAnotherShapeAreToldInPlainWords(t *testing.T) {
	readers := map[string]func(*record.Manifest) error{
		"bounds":  func(m *record.Manifest) error { _, err := boundsOf(m); return err },
		"compare": func(m *record.Manifest) error { _, err := bindingOf(m); return err },
		"widen": func(m *record.Manifest) error {
			return keepConfigurations(m, &record.Manifest{Spec: json.RawMessage(`{"suite":{},"configurations":{}}`)})
		},
	}
	for text, wants := range map[string]map[string]string{
		`[]`:                               {"bounds": "it is a list, want a map", "compare": "it is a list, want a map", "widen": "it is a list, want a map"},
		`{"suite":[]}`:                     {"bounds": "suite is a list, want a map", "compare": "suite is a list, want a map"},
		`{"configurations":"a"}`:           {"compare": "configurations is a text, want a map", "widen": "configurations is a text, want a map"},
		`{"suite":{"thresholds":{}}}`:      {"bounds": "suite.thresholds is a map, want a list"},
		`{"suite":{"min_coverage":"all"}}`: {"bounds": "suite.min_coverage is a text, want a number"},
		`{"suite":`:                        {"bounds": "unexpected EOF", "compare": "unexpected EOF", "widen": "unexpected EOF"},
	} {
		for reader, want := range wants {
			err := readers[reader](&record.Manifest{Spec: json.RawMessage(text)})
			if err == nil || !strings.Contains(err.Error(), "reading the resolved spec: "+want) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("%s of %s: %v, want %s", reader, text, err, want)
			}
		}
	}
	m := &record.Manifest{Spec: json.RawMessage(`{"configurations":{}}`), Configurations: []record.ConfigurationHead{{Name: "lost"}}}
	if err := readers["widen"](m); err == nil || !strings.Contains(err.Error(), `no configuration "lost"`) {
		t.Errorf("a configuration without its loop: %v", err)
	}
}

func TestNamesAreListedOnce(t *testing.T) {
	if got := exit.Some([]string{"right", "right", "cost_usd", "right"}); got != "right, cost_usd" {
		t.Errorf("%q", got)
	}
	if got := exit.Some(strings.Split("a b c d e f g h i j a", " ")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Errorf("%q", got)
	}
}
