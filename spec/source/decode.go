package source

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// NodeDecoder is a type that reads itself, such as "off | number" or "text | list". It sees no Null; faults go to d.
type NodeDecoder interface {
	DecodeNode(n *Node, d *Decoder)
}

// Decoder fills Go values from nodes and gathers all that is wrong.
type Decoder struct {
	// Language has what a file may begin with; keys in the wrong place are looked for in it, for hints.
	Language []Part

	faults Faults
}

// Decode fills what into points to and returns every fault, sorted. Fields whose key is absent keep their value.
//
// Struct tags: `yaml:"name"` (fields without it are left alone), `yaml:",inline"` on an embedded struct,
// `yaml:",here"` on a *Node field that receives the struct's own node; `need:"required"`; `min:"0"`, `max:"1"`
// (inclusive) and `above:"0"` (exclusive) for numbers and durations; `enum:"a|b"` and `hint:"..."` of a
// word that is none of these (or a type with a method Words, which gives them, and Instead, which knows other tools' words); `minlen:"1"` for
// text, lists and mappings; `doc:"..."`; `also:"a b"`, names by which other tools call the key, for hints. On lists, limits of numbers
// and enum apply to the items. `single:"allowed"` is a list that may be written as its only item; then minlen applies to the items, too.
//
// A struct is a mapping, or what a field with the tag `short` takes in its place: `short:"text"` a scalar, `short:"list"` a list, any
// other tag that word alone, which is true for a bool. Such a field needs no key.
//
// Keys of one struct: `with:"a b"` needs one of these beside it, `without:"a b"` none of them. A field of the struct without a
// key may have `one:"a b"`, exactly one of these keys, or `some:"a b"`, at least one; its `hint` says how they differ.
//
// Types: string, bool, int, int64, float64, time.Duration (never negative), any (as Plain gives it), *Node, structs,
// pointers, slices, map[string]T, Maybe[T], and every NodeDecoder.
func Decode(n *Node, into any) Faults { return (&Decoder{}).Whole(n, into) }

// Whole is the function Decode by a Decoder, which may be used again.
func (d *Decoder) Whole(n *Node, into any) Faults {
	d.Decode(n, into)
	faults := d.faults
	d.faults = nil
	faults.Sort()
	return faults
}

// Decode fills what into points to, as part of a larger value.
func (d *Decoder) Decode(n *Node, into any) {
	v := reflect.ValueOf(into).Elem()
	d.value(n, v, rules{enum: wordsOf(v.Type())})
}

// DecodeTagged is Decode with the tags that a field of that type would have, such as `min:"0" max:"1"`.
func (d *Decoder) DecodeTagged(n *Node, into any, tag reflect.StructTag) {
	v := reflect.ValueOf(into).Elem()
	d.value(n, v, rulesOf("", v.Type(), tag))
}

// Fault reports a fault at n; hint may be "".
func (d *Decoder) Fault(n *Node, hint, format string, args ...any) {
	d.Add(n.Fault(hint, format, args...))
}

// Add reports a fault made elsewhere, such as one inside an expression.
func (d *Decoder) Add(f Fault) {
	d.faults.add(f)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	nodeType     = reflect.TypeFor[*Node]()
	hookType     = reflect.TypeFor[NodeDecoder]()
)

// value fills v, which can be set, from n.
func (d *Decoder) value(n *Node, v reflect.Value, r rules) {
	t := v.Type()
	switch {
	case n.bad:
	case t == nodeType:
		v.Set(reflect.ValueOf(n))
	case t.Kind() == reflect.Interface:
		d.plain(n, v)
	case n.Kind == Null:
		d.Fault(n, "give a value or delete the key", "want %s, got %s", wanted(t, r), n.describe())
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(n, v.Elem(), r)
	case shapeOf(t).hook:
		v.Addr().Interface().(NodeDecoder).DecodeNode(n, d)
	case shapeOf(t).maybe != nil:
		d.maybe(n, v, r)
	default:
		d.typed(n, v, r)
	}
}

// typed fills what has the same type in YAML and in Go.
func (d *Decoder) typed(n *Node, v reflect.Value, r rules) {
	fits := true
	switch kind := v.Kind(); {
	case v.Type() == durationType:
		x, err := time.ParseDuration(n.Text)
		if fits = n.Kind == String && err == nil && !strings.ContainsAny(n.Text[:1], "+-") && n.Text != "0" && r.allow(float64(x)); fits {
			v.SetInt(int64(x))
		}
	case kind == reflect.String:
		d.text(n, v, r)
	case kind == reflect.Bool:
		if fits = n.Kind == Bool; fits {
			v.SetBool(strings.EqualFold(n.Text, "true"))
		}
	case kind == reflect.Int || kind == reflect.Int64:
		x, whole := n.wholeNumber()
		if fits = whole && !v.OverflowInt(x) && r.allow(float64(x)); fits {
			v.SetInt(x)
		}
	case kind == reflect.Float64:
		x, decimal := n.decimal()
		if fits = decimal && r.allow(x); fits {
			v.SetFloat(x)
		}
	case kind == reflect.Slice:
		d.list(n, v, r)
	case kind == reflect.Map:
		d.dictionary(n, v, r)
	case kind == reflect.Struct:
		d.structure(n, v, r)
	default:
		panic("source: no way to decode into " + v.Type().String())
	}
	if !fits {
		d.mismatch(n, v.Type(), r)
	}
}

func (d *Decoder) list(n *Node, v reflect.Value, r rules) {
	nodes := n.Items
	switch {
	case n.Kind == List:
		d.checkLength(n, v.Type(), r)
	case r.single:
		nodes = []*Node{n}
	default:
		d.mismatch(n, v.Type(), r)
		return
	}
	items := reflect.MakeSlice(v.Type(), len(nodes), len(nodes))
	for i, item := range nodes {
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
	noun := "item"
	if t.Kind() == reflect.Map {
		noun = "key"
	}
	if r.minLen > 1 {
		noun += "s"
	}
	if n.Len() < r.minLen {
		d.Fault(n, "", "want at least %d %s, got %d", r.minLen, noun, n.Len())
	}
}

// structure fills the fields of a struct. A required key that was misspelt is not missing as well; beside a key of
// which only the place is known, the missing ones are told in its hint.
func (d *Decoder) structure(n *Node, v reflect.Value, r rules) {
	s := shapeOf(v.Type())
	if n.Kind != Map {
		d.short(n, v, s, r)
		return
	}
	s.setHere(v, n)
	for i, entry := range n.Entries[min(1, len(n.Entries)):] { // the rest of a text that a comma ended
		if _, known := s.field(entry.Key); !known && quoteHintOf(n, entry) != "" {
			n.Entries[i].Value.bad = true
		}
	}
	var unknown []Fault
	unexplained := -1 // the first unknown key without a hint
	hints := ""
	for _, entry := range n.Entries {
		if f, known := s.field(entry.Key); known {
			d.value(entry.Value, v.FieldByIndex(f.index), f.rules)
			continue
		}
		instead := cmp.Or(quoteHintOf(n, entry), s.meant(entry.Key), didYouMean(entry.Key, s.names()), d.elsewhere(n, entry.Key, v.Type()))
		if hints += instead + "\n"; instead == "" && unexplained < 0 {
			unexplained = len(unknown)
		}
		unknown = append(unknown, n.KeyFault(entry.Key, cmp.Or(instead, knownKeys(s.names())), "unknown key %s", quote(entry.Key)))
	}
	var missing []*field
	for i := range s.fields {
		if f := &s.fields[i]; f.rules.required && n.Get(f.name) == nil && !containsWord(hints, f.name) {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 && unexplained >= 0 {
		f := &unknown[unexplained]
		f.Hint, missing = strings.TrimPrefix(f.Hint+"; "+areMissing(missing), "; "), nil
	}
	for _, f := range unknown {
		d.Add(f)
	}
	if len(unknown) == 0 {
		d.together(n, s)
	}
	for _, f := range missing {
		d.Fault(n, f.rules.doc, "key %q is missing", f.name)
	}
}

// short fills the field of a struct that takes what is no mapping.
func (d *Decoder) short(n *Node, v reflect.Value, s *shape, r rules) {
	for i := range s.shorts {
		f := &s.shorts[i]
		if !f.rules.takes(n) {
			continue
		}
		s.setHere(v, n)
		rules := f.rules
		rules.single = rules.short == "text" // the only item of a list of texts
		if field := v.FieldByIndex(f.index); field.Kind() == reflect.Bool {
			field.SetBool(true)
		} else {
			d.value(n, field, rules)
		}
		return
	}
	instead := hint(n, v.Type())
	for _, f := range s.shorts {
		instead = cmp.Or(instead, hint(n, f.typ))
	}
	d.Fault(n, cmp.Or(instead, s.example()), "want %s, got %s", wanted(v.Type(), r), n.describe())
}

func (s *shape) setHere(v reflect.Value, n *Node) {
	if s.here != nil {
		v.FieldByIndex(s.here).Set(reflect.ValueOf(n))
	}
}

// takes reports whether a field with the tag short takes a value in the place of its struct.
func (r rules) takes(n *Node) bool {
	switch r.short {
	case "text":
		return n.Kind < List
	case "list":
		return n.Kind == List
	}
	return n.Kind == String && n.Text == r.short
}

// elsewhere says where a key of n belongs that the struct of a type does not have: below it, or in another place of the language.
// What other tools call a key counts where no key is missing, for that one may be meant.
func (d *Decoder) elsewhere(n *Node, key string, t reflect.Type) string {
	whole := !slices.ContainsFunc(shapeOf(t).fields, func(f field) bool { return f.rules.required && n.Get(f.name) == nil })
	if path, ok := find(t, key, whole); ok && path != "" {
		return "write " + path + ": {" + key + ": …}"
	}
	for _, part := range d.Language {
		if path, ok := find(reflect.TypeOf(part.Of), key, whole); ok {
			return "it belongs to " + strings.TrimPrefix(path+" of "+part.Name, " of ")
		}
	}
	return ""
}

// Part is a struct that a language begins with, and what messages call it.
type Part struct {
	Name string
	Of   any
}

// levels are how many of a struct a key is looked for in.
const levels = 2

// find is the path of the mapping that has a key, also by the names of other tools; "" is the struct itself.
func find(t reflect.Type, key string, also bool) (path string, ok bool) {
	type place struct {
		t    reflect.Type
		path string
	}
	level := []place{{t, ""}}
	for range levels {
		var below []place
		for _, at := range level {
			for _, f := range shapeOf(at.t).fields {
				if f.name == key || also && slices.Contains(f.rules.also, key) {
					return at.path, true
				}
				if inner := structOf(f.typ); inner != nil {
					below = append(below, place{inner, strings.TrimPrefix(at.path+"."+f.name, ".")})
				}
			}
		}
		level = below
	}
	return "", false
}

// structOf is the struct that a field holds, or a list or mapping of; nil: none.
func structOf(t reflect.Type) reflect.Type {
	for {
		switch {
		case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
			t = t.Elem()
		case t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Pair["):
			t = t.Field(1).Type
		case t.Kind() == reflect.Struct:
			return t
		default:
			return nil
		}
	}
}

// together checks the keys of an object against each other. If one is missing or there are too many, the keys that depend on it are not checked.
func (d *Decoder) together(n *Node, s *shape) {
	present := func(keys []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return n.Get(key) == nil })
	}
	for _, c := range s.choices {
		switch got := present(c.keys); {
		case len(got) == 0 && c.several:
			d.beside(n.Fault(c.hint, "want at least one of %s", joined(c.keys, "and")))
			return
		case len(got) == 2 && len(c.keys) == 2 && !c.several:
			d.beside(n.Fault(c.hint, "want one of %s, got both", joined(c.keys, "and")))
			return
		case len(got) != 1 && !c.several:
			d.beside(n.Fault(c.hint, "want one of %s, got %s", joined(c.keys, "and"), cmp.Or(joined(got, "and"), "none of them")))
			return
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if n.Get(f.name) == nil {
			continue
		}
		if len(f.rules.with) > 0 && len(present(f.rules.with)) == 0 {
			others := joined(f.rules.with, "or")
			d.beside(n.KeyFault(f.name, fmt.Sprintf("write %s, or delete %s", others, f.name), "%q needs %s", f.name, others))
		}
		if other := present(f.rules.without); len(other) > 0 {
			d.beside(n.KeyFault(f.name, "keep one of them", "%q excludes %s", f.name, joined(other, "and")))
		}
	}
}

func (d *Decoder) beside(f Fault) {
	f.Read = true
	d.Add(f)
}

// joined are words with another one before the last: a, b and c.
func joined(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// containsWord reports whether a text has the word, not only as a part of another one.
func containsWord(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), word)
}

func areMissing(fields []*field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if len(names) == 1 {
		return names[0] + " is missing"
	}
	return joined(names, "and") + " are missing"
}

// fewNames are listed in a hint; of more, only the closest helps.
const fewNames = 24

// quoteHintOf is the hint for a key that is the rest of a text with a comma in it.
func quoteHintOf(n *Node, entry Entry) string {
	if n.form == flow && entry.Value.Kind == Null && entry.Value.Text == "" {
		return quoteFlow
	}
	return ""
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

func (d *Decoder) mismatch(n *Node, t reflect.Type, r rules) {
	instead := hint(n, t)
	if instead == "" && (n.Kind == Map || n.Kind == List) {
		instead = r.doc
	}
	d.Fault(n, instead, "want %s, got %s", wanted(t, r), n.describe())
}

func (d *Decoder) text(n *Node, v reflect.Value, r rules) {
	switch {
	case n.Kind != String || n.form == date:
		d.mismatch(n, v.Type(), r)
	case r.enum != nil && !slices.Contains(r.enum, n.Text):
		d.unknownWord(n, v, r)
	case runes(n.Text) < r.minLen:
		d.Fault(n, "", "want %s, got %s", wanted(v.Type(), r), n.describe())
	default:
		v.SetString(n.Text)
	}
}

// manyWords are listed in the hint, and only where no other one is known.
const manyWords = 12

func (d *Decoder) unknownWord(n *Node, v reflect.Value, r rules) {
	instead := ""
	if h, ok := v.Interface().(interface{ Instead(string) string }); ok {
		instead = h.Instead(n.Text)
	}
	instead = cmp.Or(instead, didYouMean(n.Text, r.enum), r.hint)
	if len(r.enum) <= manyWords || r.name == "" {
		d.Fault(n, instead, "want %s, got %s", wanted(v.Type(), r), n.describe())
		return
	}
	d.Fault(n, cmp.Or(instead, "there are "+strings.Join(r.enum, ", ")), "unknown %s %s", r.name, quote(n.Text))
}

// durationPattern is what time.ParseDuration reads, without a sign and never without a unit.
const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$`

// plain fills an any field, where everything is welcome that reads the same to everybody.
func (d *Decoder) plain(n *Node, v reflect.Value) {
	d.checkNumbers(n)
	if value := n.Plain(); value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// checkNumbers refuses the numbers below n that Plain leaves as text.
func (d *Decoder) checkNumbers(n *Node) {
	if n.Kind == Int || n.Kind == Float {
		if _, isText := n.number().(string); isText {
			d.Fault(n, hint(n, reflect.TypeFor[float64]()), "want a plain decimal number or text in quotes, got %s", n.describe())
		}
	}
	for _, item := range n.Items {
		d.checkNumbers(item)
	}
	for _, entry := range n.Entries {
		d.checkNumbers(entry.Value)
	}
}
