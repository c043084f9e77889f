package trace

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The manual names every attribute that is sent, and the source every one that
// the manual names.
func TestAttributesAreDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, found := range regexp.MustCompile("`((gen_ai|agentbench|server|error)\\.[a-z_.]+)`").FindAllSubmatch(manual, -1) {
		named = append(named, string(found[1]))
	}
	var source []byte
	for _, file := range []string{"trace.go", "client.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	for _, name := range named {
		if !regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `"`).Match(source) {
			t.Errorf("%s is documented and never sent", name)
		}
	}
	got := collect(t)
	e, warned := open(t)
	walk(With(t.Context(), &Tracing{Tracer: e, Models: models, Contents: true}))
	finish(t, e, warned)
	for _, span := range got.spans {
		for key := range values(span.Attributes) {
			if !slices.Contains(named, key) {
				t.Errorf("%s is sent and not documented", key)
			}
		}
	}
}
