package spec

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec/source"
)

// F41: a price in the suite wins over the file's; the file's is found by the provider's name of the model, and the
// resolved suite shows it. The prices have a date if any is used.
func TestF41_PricesOfTheFile(t *testing.T) {
	files := fstest.MapFS{
		"l.yaml":      {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
		"prices.yaml": {Data: []byte("as_of: 2026-11-01\nprices: {gpt-4o: {input: 2.5, cached_input: 1.25, output: 10}, m: free}\n")},
	}
	load := func(models string) *Suite {
		files["suite.yaml"] = &fstest.MapFile{Data: []byte("suite: s\ntasks: [{input: x}]\nprices: prices.yaml\nmodels: {m: " + models +
			"}\nconfigurations: [{name: a, loop: l.yaml}]\n")}
		doc, faults := LoadFS(files, "suite.yaml", Options{})
		if doc == nil {
			t.Fatal(faults)
		}
		return doc.Suite
	}
	for name, c := range map[string]struct {
		model string
		input float64
		free  bool
		asOf  string
	}{
		"by the provider's name": {"{provider: openai, name: gpt-4o}", 2.5, false, "2026-11-01"},
		"by the key":             {"{provider: openai}", 0, true, "2026-11-01"},
		"the suite's own wins":   {"{provider: openai, name: gpt-4o, price: {input: 1, output: 1}}", 1, false, ""},
	} {
		s := load(c.model)
		m, _ := s.Models.Get("m")
		if m.Price == nil || m.Price.Input != c.input || m.Price.Free != c.free || s.PricesAsOf != c.asOf {
			t.Errorf("%s: %+v as of %q", name, m.Price, s.PricesAsOf)
		}
		if s.Tree.Get("models").Get("m").Get("price") == nil {
			t.Errorf("%s: the resolved suite shows no price", name)
		}
	}
	if s := load("{provider: openai, name: unknown}"); s.Models[0].Value.Price != nil || s.PricesAsOf != "" {
		t.Errorf("an unknown model has the price %+v as of %q", s.Models[0].Value.Price, s.PricesAsOf)
	}
}

// A date has the form that the schema says.
func TestF41_DatesOfPrices(t *testing.T) {
	for text, ok := range map[string]bool{
		"2026-11-01": true, `"2026-11-01"`: true, "2026-02-30": false, "2026-1-1": false, "1 November 2026": false, "20261101": false, "2026": false,
	} {
		tree, _ := source.Parse(source.NewFile("p.yaml", []byte("as_of: "+text+"\nprices: {m: free}\n")))
		faults := source.Decode(tree, &PriceFile{})
		if (faults.Err() == nil) != ok {
			t.Errorf("%s: %v", text, faults)
		}
	}
}

// A provider by name has an address, a variable for its key, a row in docs/providers.md, and a place in the schema.
func TestProvidersByName(t *testing.T) {
	text, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	field, _ := reflect.TypeFor[Model]().FieldByName("Provider")
	names := strings.Split(field.Tag.Get("enum"), "|")
	var want []string
	for _, s := range Servers() {
		want = append(want, s.Provider)
		row := fmt.Sprintf("| `%s` | %s | `%s`%s |", s.Provider, cmp.Or(map[string]string{"openai": "`https://api.openai.com/v1`", "azure": "yours: `base_url`"}[s.Provider], "`"+s.BaseURL+"`"), s.KeyEnv, map[bool]string{true: ", optional"}[s.Keyless])
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/providers.md lacks %s", row)
		}
		if (s.BaseURL == "") != (s.Provider == "openai" || s.Provider == "azure") || s.KeyEnv == "" {
			t.Errorf("%+v", s)
		}
	}
	if want = append(want, "script", "simulate"); !slices.Equal(names, want) {
		t.Errorf("the schema has %v, want %v", names, want)
	}
	for name, c := range map[string]struct {
		model Model
		want  Server
	}{
		"openai":              {Model{}, Server{Provider: "openai", KeyEnv: "OPENAI_API_KEY"}},
		"any server":          {Model{BaseURL: "http://x/v1"}, Server{Provider: "openai", BaseURL: "http://x/v1", KeyEnv: "OPENAI_API_KEY", Keyless: true}},
		"a key of its own":    {Model{BaseURL: "http://x/v1", APIKeyEnv: "K"}, Server{Provider: "openai", BaseURL: "http://x/v1", KeyEnv: "K"}},
		"ollama":              {Model{Provider: "ollama"}, Server{Provider: "ollama", BaseURL: "http://localhost:11434/v1", KeyEnv: "OLLAMA_API_KEY", Keyless: true}},
		"ollama, elsewhere":   {Model{Provider: "ollama", BaseURL: "http://gpu:11434/v1"}, Server{Provider: "ollama", BaseURL: "http://gpu:11434/v1", KeyEnv: "OLLAMA_API_KEY", Keyless: true}},
		"a proxy before groq": {Model{Provider: "groq", BaseURL: "http://proxy/v1"}, Server{Provider: "groq", BaseURL: "http://proxy/v1", KeyEnv: "GROQ_API_KEY"}},
	} {
		c.model.Provider = cmp.Or(c.model.Provider, "openai")
		if got, calls := c.model.Server(); !calls || got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, calls := (&Model{Provider: "script"}).Server(); calls {
		t.Error("a script is no server")
	}
}
