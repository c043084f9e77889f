package source

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape is what the tags of a struct (and the methods of a type) say about its YAML.
type shape struct {
	hook   bool
	maybe  reflect.Type // the T of a Maybe[T]
	here   []int        // index of the field that receives the node
	fields []field      // in the order of declaration, embedded ones in place
}

type field struct {
	name  string
	index []int
	typ   reflect.Type
	rules rules
}

// rules are the limits in a field's tags.
type rules struct {
	required        bool
	min, max, above *bound
	enum            []string
	hint            string // of a word that is none of enum
	minLen          int
	doc             string
	off             bool // the value of a Maybe: off is allowed beside it
}

// bound is a limit as a number (of nanoseconds, for a duration) and as it is written.
type bound struct {
	value float64
	text  string
}

func (d *Decoder) shape(t reflect.Type) *shape {
	s, known := d.shapes[t]
	if !known {
		s = shapeOf(t)
		if d.shapes == nil {
			d.shapes = map[reflect.Type]*shape{}
		}
		d.shapes[t] = s
	}
	return s
}

func shapeOf(t reflect.Type) *shape {
	s := &shape{hook: reflect.PointerTo(t).Implements(hookType)}
	if m, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		s.maybe = m.inner()
	} else if t.Kind() == reflect.Struct && !s.hook {
		s.addFields(t, nil)
	}
	return s
}

func (s *shape) addFields(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		index := append(slices.Clone(prefix), i)
		switch {
		case option == "inline":
			s.addFields(f.Type, index)
		case option == "here":
			s.here = index
		case name != "" && name != "-":
			s.fields = append(s.fields, field{name, index, f.Type, rulesOf(f.Tag)})
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

func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// rulesOf reads tags; one that cannot be read is a mistake of ours and panics.
func rulesOf(tag reflect.StructTag) rules {
	r := rules{required: tag.Get("need") == "required", doc: tag.Get("doc")}
	r.min, r.max, r.above = boundOf(tag.Get("min")), boundOf(tag.Get("max")), boundOf(tag.Get("above"))
	if enum := tag.Get("enum"); enum != "" {
		r.enum, r.hint = strings.Split(enum, "|"), tag.Get("hint")
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
	return rules{min: r.min, max: r.max, above: r.above, enum: r.enum, hint: r.hint}
}

// orOff are the rules for the value of a Maybe.
func (r rules) orOff() rules {
	r.off = true
	return r
}
