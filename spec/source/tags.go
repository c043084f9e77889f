package source

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// shape is what the tags of a struct (and the methods of a type) say about its YAML.
type shape struct {
	hook    bool
	maybe   reflect.Type // the T of a Maybe[T]
	here    []int        // index of the field that receives the node
	fields  []field      // in the order of declaration, embedded ones in place
	shorts  []field      // that take what is no mapping
	choices []choice
}

// choice is a set of keys of which one is needed, or several may be given.
type choice struct {
	keys    []string
	several bool
	hint    string
}

type field struct {
	name  string
	index []int
	typ   reflect.Type
	rules rules
}

// rules are the limits in a field's tags.
type rules struct {
	name            string // the key
	required        bool
	min, max, above *bound
	enum            []string
	hint            string // of a word that is none of enum, or of another name
	minLen          int
	single          bool // a list may be written as its only item
	doc             string
	also            []string // names of other tools
	short           string   // what the field takes in the place of its struct; "": nothing
	with, without   []string // keys beside this one
	off             bool     // the value of a Maybe: off is allowed beside it
}

// bound is a limit as a number (of nanoseconds, for a duration) and as it is written.
type bound struct {
	value float64
	text  string
}

// shapes are those of the types met so far.
var shapes sync.Map // of *shape, by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{hook: reflect.PointerTo(t).Implements(hookType)}
	if m, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		s.maybe = m.inner()
	} else if t.Kind() == reflect.Struct && !s.hook {
		s.addFields(t, nil)
	}
	shapes.Store(t, s)
	return s
}

func (s *shape) addFields(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		index := append(slices.Clone(prefix), i)
		one, some := f.Tag.Get("one"), f.Tag.Get("some")
		if keys := strings.Fields(one + some); len(keys) > 0 {
			s.choices = append(s.choices, choice{keys, some != "", f.Tag.Get("hint")})
		}
		if rules := rulesOf(name, f.Type, f.Tag); rules.short != "" {
			s.shorts = append(s.shorts, field{name, index, f.Type, rules})
		}
		switch {
		case option == "inline":
			s.addFields(f.Type, index)
		case option == "here":
			s.here = index
		case name != "" && name != "-":
			s.fields = append(s.fields, field{name, index, f.Type, rulesOf(name, f.Type, f.Tag)})
		}
	}
}

func (s *shape) field(name string) (field, bool) {
	for _, f := range s.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// meant says which key other tools call by a name; "": none.
func (s *shape) meant(name string) string {
	for _, f := range s.fields {
		switch {
		case !slices.Contains(f.rules.also, name):
		case f.rules.hint != "" && f.rules.enum == nil:
			return f.rules.hint
		default:
			return "write " + f.name
		}
	}
	return ""
}

// Meant is the key of a struct that other tools call by a name, as its tags have it; "": none.
func Meant[T any](name string) string {
	for _, f := range shapeOf(reflect.TypeFor[T]()).fields {
		if slices.Contains(f.rules.also, name) {
			return f.name
		}
	}
	return ""
}

// example is the hint how to write a struct: with the keys that it needs, else those that are known.
func (s *shape) example() string {
	var needed []string
	for _, f := range s.fields {
		if f.rules.required {
			needed = append(needed, f.name+": …")
		}
	}
	if needed == nil {
		return knownKeys(s.names())
	}
	return "write {" + strings.Join(needed, ", ") + "}"
}

func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// wordsOf are those of a type that has the method Words; nil: it has none.
func wordsOf(t reflect.Type) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if w, ok := reflect.Zero(t).Interface().(interface{ Words() []string }); ok {
		return w.Words()
	}
	return nil
}

// rulesOf reads the tags of a field of that type; one that cannot be read is a mistake of ours and panics.
func rulesOf(name string, t reflect.Type, tag reflect.StructTag) rules {
	r := rules{name: name, hint: tag.Get("hint"), required: tag.Get("need") == "required", doc: tag.Get("doc"), also: strings.Fields(tag.Get("also")),
		with: strings.Fields(tag.Get("with")), without: strings.Fields(tag.Get("without"))}
	r.min, r.max, r.above = boundOf(tag.Get("min")), boundOf(tag.Get("max")), boundOf(tag.Get("above"))
	if enum := tag.Get("enum"); enum != "" {
		r.enum = strings.Split(enum, "|")
	}
	if words := wordsOf(t); words != nil {
		r.enum = words
	}
	r.short = tag.Get("short")
	if r.single = tag.Get("single") == "allowed"; r.single {
		r.minLen = 1
	}
	if minLen := tag.Get("minlen"); minLen != "" {
		r.minLen = must(strconv.Atoi(minLen))
	}
	return r
}

func boundOf(text string) *bound {
	if text == "" {
		return nil
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return &bound{x, text}
	}
	return &bound{float64(must(time.ParseDuration(text))), text}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic("source: a struct tag: " + err.Error())
	}
	return value
}

// allow tells whether a number is within the limits.
func (r rules) allow(x float64) bool {
	return (r.min == nil || x >= r.min.value) && (r.max == nil || x <= r.max.value) && (r.above == nil || x > r.above.value)
}

// ofItems are the rules that a list or mapping hands on to what it holds.
func (r rules) ofItems() rules {
	items := rules{min: r.min, max: r.max, above: r.above, enum: r.enum, hint: r.hint}
	if r.single {
		items.minLen = r.minLen
	}
	return items
}

// orOff are the rules for the value of a Maybe.
func (r rules) orOff() rules {
	r.off = true
	return r
}
