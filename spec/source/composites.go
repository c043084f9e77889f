package source

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

func (d *Decoder) list(n *Node, v reflect.Value, r rules) {
	if n.Kind != List {
		d.mismatch(n, v.Type(), r)
		return
	}
	d.checkLength(n, v.Type(), r)
	items := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if item.Kind == Null && !takesNull(v.Type().Elem()) {
			d.Fault(item, "give a value or delete the item", "want %s, got %s", wanted(v.Type().Elem(), r.ofItems()), item.describe())
			continue
		}
		d.value(item, items.Index(i), r.ofItems())
	}
	v.Set(items)
}

func takesNull(t reflect.Type) bool { return t.Kind() == reflect.Interface || t == nodeType }

// dictionary fills a map[string]T; the order of the keys is lost.
func (d *Decoder) dictionary(n *Node, v reflect.Value, r rules) {
	if n.Kind != Map {
		d.mismatch(n, v.Type(), r)
		return
	}
	d.checkLength(n, v.Type(), r)
	values := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, entry := range n.Entries {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(entry.Value, value, r.ofItems())
		values.SetMapIndex(reflect.ValueOf(entry.Key).Convert(v.Type().Key()), value)
	}
	v.Set(values)
}

func (d *Decoder) checkLength(n *Node, t reflect.Type, r rules) {
	if n.Len() < r.minLen {
		d.Fault(n, "", "want %s, got %d", wantedLength(t, r.minLen), n.Len())
	}
}

// structure fills the fields of a struct. A required key that was misspelt is not missing as well.
func (d *Decoder) structure(n *Node, v reflect.Value, r rules) {
	s := d.shape(v.Type())
	if n.Kind != Map {
		d.Fault(n, cmp.Or(hint(n, v.Type()), knownKeys(s.names())), "want %s, got %s", wanted(v.Type(), r), n.describe())
		return
	}
	if s.here != nil {
		v.FieldByIndex(s.here).Set(reflect.ValueOf(n))
	}
	meant := map[string]bool{}
	for _, entry := range n.Entries {
		if f, known := s.field(entry.Key); known {
			d.value(entry.Value, v.FieldByIndex(f.index), f.rules)
		} else {
			d.Add(n.KeyFault(entry.Key, unknownHint(n, entry, s.names()), "unknown key %s", quote(entry.Key)))
			meant[Closest(entry.Key, s.names())] = true
		}
	}
	for _, f := range s.fields {
		if f.rules.required && n.Get(f.name) == nil && !meant[f.name] {
			d.Fault(n, f.rules.doc, "key %q is missing", f.name)
		}
	}
}

// fewNames are listed in a hint; of more, only the closest helps.
const fewNames = 16

func unknownHint(n *Node, entry Entry, names []string) string {
	if n.form == flow && entry.Value.Kind == Null && entry.Value.Text == "" {
		return quoteFlow
	}
	return cmp.Or(didYouMean(entry.Key, names), knownKeys(names))
}

// knownKeys is a hint where these are few enough to be read.
func knownKeys(names []string) string {
	if len(names) == 0 || len(names) > fewNames {
		return ""
	}
	return "known keys: " + strings.Join(names, ", ")
}

func didYouMean(word string, words []string) string {
	if closest := Closest(word, words); closest != "" {
		return fmt.Sprintf("did you mean %q?", closest)
	}
	return ""
}
