package page

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Tags make the columns of tables out of the tags of structs:
//
//	Cost Estimate `json:"cost_usd" col:"cost,dollars,minor"`
//
// are the head, the form of the numbers and words about the column, parted by spaces. The key for machines is that of
// JSON, or what `key` says. A struct in the struct has a tag, too: its head stands above the heads of its fields, its
// key before theirs, and its form is that of those that have none. `warn` lists the kinds of warnings that a cell may have.
type Tags[T any] struct {
	Forms map[string]func(Value) string
	// Prefix stands before all keys.
	Prefix string
	// About is the name from outside that is the head of columns with the word about; "": they keep theirs.
	About string
	Warn  func(row T, kinds []string) []Warning
}

// The words about columns, beside those that Fields has methods for: optional, minor, wide, people, machines.
const (
	aboutWord   = "about"   // the head is Tags.About
	betweenWord = "between" // people see the interval alone
	rareWord    = "rare"    // left out where all numbers are 0
	proseWord   = "prose"
	ownWord     = "own" // a text of our own, not one from outside
)

// tagged is a field with a tag.
type tagged struct {
	path      string // in Go: Cost.Mean
	index     []int
	head, key string
	form      string
	words     []string
	warn      []string
	of        reflect.Type
}

// Tagged are the columns of a part of rows: those of all fields in their order, or of those with these names, such as Cost or
// Cost.Mean.
func Tagged[T, U any](t Tags[T], of func(T) *U, names ...string) (fields Fields[T]) {
	all := taggedOf(reflect.TypeFor[U](), tagged{key: t.Prefix})
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		for _, f := range all {
			if name == "" || f.path == name || strings.HasPrefix(f.path, name+".") {
				fields = append(fields, fieldsOf(t, of, f)...)
			}
		}
	}
	return fields
}

// taggedOf are the fields of a struct, within another one.
func taggedOf(t reflect.Type, within tagged) (all []tagged) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, ok := field.Tag.Lookup("col")
		if !ok {
			continue
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		parts := append(strings.Split(tag, ","), "", "")
		f := tagged{
			path: strings.TrimPrefix(within.path+"."+field.Name, "."), index: append(slices.Clone(within.index), i), of: field.Type,
			head: strings.Trim(within.head+"\n"+parts[0], "\n"), key: cmp.Or(field.Tag.Get("key"), within.key+key),
			form: cmp.Or(parts[1], within.form), words: strings.Fields(parts[2]), warn: strings.FieldsFunc(field.Tag.Get("warn"), func(r rune) bool { return r == ',' }),
		}
		if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[Estimate]() && field.Type != reflect.TypeFor[Value]() {
			f.key += "_"
			all = append(all, taggedOf(field.Type, f)...)
			continue
		}
		all = append(all, f)
	}
	return all
}

// fieldsOf are the columns of a field: its number or text, and its interval if it has one.
func fieldsOf[T, U any](t Tags[T], of func(T) *U, f tagged) (fields Fields[T]) {
	has := func(word string) bool { return slices.Contains(f.words, word) }
	at := func(row T) reflect.Value { return reflect.ValueOf(of(row)).Elem().FieldByIndex(f.index) }
	form, head := t.Forms[f.form], f.head
	if has(aboutWord) && t.About != "" {
		head = ""
	}
	switch {
	case f.of == reflect.TypeFor[Estimate]():
		fields = Measured(head, f.key, form, func(row T) Estimate { return *at(row).Addr().Interface().(*Estimate) })
		if has("machines") {
			fields = append(fields[:1], fields[2:]...)
		}
	case f.of == reflect.TypeFor[Value]():
		fields = Valued(head, f.key, form, func(row T) Value { return at(row).Interface().(Value) })
	case f.of.Kind() == reflect.String:
		text := Name
		if has(ownWord) {
			text = func(text string, _ ...Warning) Cell { return Text(text) }
		}
		fields = Of(Column{Head: head, Key: f.key, Prose: has(proseWord)}, func(row T) Cell { return text(at(row).String()) })
	default:
		fields = Counted(head, f.key, func(row T) int { return int(at(row).Int()) })
	}
	if cell := fields[0].Cell; len(f.warn) > 0 {
		fields[0].Cell = func(row T) Cell { return cell(row).Warned(t.Warn(row, f.warn)...) }
	}
	return fields.worded(f.words, t.About)
}

// worded are the fields of a column with the words about it.
func (f Fields[T]) worded(words []string, about string) Fields[T] {
	for _, word := range words {
		switch word {
		case aboutWord:
			f[0].About = about
		case betweenWord, "machines":
			f[0].Only = Machines
		case rareWord:
			f[:1].unlessZero().Minor()
		case "optional":
			f.Optional()
		case "minor":
			f.Minor()
		case "wide":
			f.Wide()
		case "people":
			f.ForPeople()
		}
	}
	return f
}

// unlessZero leaves a column out where all its numbers are 0.
func (f Fields[T]) unlessZero() Fields[T] {
	cell := f[0].Cell
	f[0].Cell = func(row T) Cell {
		shown := cell(row)
		if shown.Text == "0" || shown.Text == "0%" {
			shown.Text = ""
		}
		return shown
	}
	return f.Optional()
}
