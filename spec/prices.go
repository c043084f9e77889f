package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// PriceFile is a dated table of prices, by what the providers call their models.
type PriceFile struct {
	AsOf   Date                `yaml:"as_of" need:"required" doc:"The day on which they were looked up: 2026-11-01."`
	Prices source.Named[Price] `yaml:"prices" need:"required" minlen:"1" doc:"USD per million tokens, or free."`
}

// Date is a day: 2026-11-01.
type Date string

// DecodeNode takes a date, in quotes or not.
func (day *Date) DecodeNode(n *source.Node, d *source.Decoder) {
	if _, err := time.Parse(time.DateOnly, n.Text); err != nil || n.Kind != source.String {
		d.Fault(n, "", "want a date, such as 2026-11-01")
		return
	}
	*day = Date(n.Text)
}

// JSONSchema describes it.
func (day *Date) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": "string", "format": "date"}
}

// priceModels gives the models that say no price of their own the one in the suite's file. It stands in the suite's
// tree from then on, so that the resolved spec shows what was paid by.
func (l *loader) priceModels(s *Suite) {
	at := s.Tree.Get("prices")
	if at == nil || s.Prices == "" {
		return
	}
	file := l.priceFile(at)
	if file == nil {
		return
	}
	for i := range s.Models {
		m, name := &s.Models[i].Value, s.Models[i].Key
		if m.Node == nil || m.Node.Get("price") != nil {
			continue
		}
		name = cmp.Or(m.Name, name)
		found := slices.IndexFunc(file.Prices, func(p source.Pair[Price]) bool { return p.Key == name })
		if found < 0 {
			l.warnOfPrice(s, m, name, file)
			continue
		}
		m.Price, s.PricesAsOf = &file.Prices[found].Value, string(file.AsOf)
		m.Node.Set("price", file.Prices[found].Node)
	}
}

// warnOfPrice tells of a model that is paid for by a price that nobody said.
func (l *loader) warnOfPrice(s *Suite, m *Model, name string, file *PriceFile) {
	if m.Provider != "openai" {
		return
	}
	at := m.Node
	if named := at.Get("name"); named != nil {
		at = named
	}
	l.warn(at, l.priceHint(s, name, file), "%s has no price of %q: its cost is unknown", s.Prices, name)
}

func (l *loader) priceHint(s *Suite, name string, file *PriceFile) string {
	if hint := didYouMean(name, file.Prices.Keys()); hint != "" {
		return hint
	}
	return fmt.Sprintf("add it to %s, or write a price here", s.Prices)
}

// priceFile reads the file that n names.
func (l *loader) priceFile(n *source.Node) *PriceFile {
	at, err := l.roots.resolve(l.doc.folder, n.Text)
	if err == nil {
		at.path, err = at.folder.within(at.path)
	}
	var text []byte
	if err == nil {
		text, err = at.folder.read(at.path, maxSpecBytes)
	}
	if err != nil {
		l.fileFault(n, err)
		return nil
	}
	tree := l.parse(at.folder.name(at.path), text)
	if tree == nil {
		return nil
	}
	file := &PriceFile{}
	l.add(source.Decode(tree, file)...)
	return file
}
