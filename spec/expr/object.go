package expr

// indexFrom is the number of keys from which an Object keeps a map beside its slice: below it a scan is faster.
const indexFrom = 9

// Object is a JSON-like object that keeps its keys in the order in which they were set. The zero Object is empty.
// Once it is shared it must not be changed.
type Object struct {
	keys   []string
	values []any
	index  map[string]int
	inCEL  bool // the values are CEL's own: made by an expression and not seen by anybody else
}

// NewObject returns an empty Object with room for n keys.
func NewObject(n int) *Object {
	return &Object{keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Len is the number of keys; 0 for nil.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys are the keys in order; the caller must not change them.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// At is the i-th key and its value.
func (o *Object) At(i int) (string, any) { return o.keys[i], o.values[i] }

// Get is the value of a key and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	i := o.find(key)
	if i < 0 {
		return nil, false
	}
	return o.values[i], true
}

// Set adds the key at the end, or replaces its value where it stands.
func (o *Object) Set(key string, value any) {
	if i := o.find(key); i >= 0 {
		o.values[i] = value
		return
	}
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
	switch n := len(o.keys); {
	case n > indexFrom:
		o.index[key] = n - 1
	case n == indexFrom:
		o.buildIndex()
	}
}

func (o *Object) buildIndex() {
	o.index = make(map[string]int, 2*len(o.keys))
	for i, key := range o.keys {
		o.index[key] = i
	}
}

func (o *Object) find(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Equal says whether two plain values are the same: numbers by value whatever their type, lists in order, objects
// whatever the order of their keys.
func Equal(a, b any) bool {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case *Object:
		y, ok := b.(*Object)
		return ok && equalObjects(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && equalLists(x, y)
	}
	switch b.(type) {
	case *Object, []any:
		return false
	}
	return a == b
}

func equalObjects(a, b *Object) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, key := range a.Keys() {
		other, ok := b.Get(key)
		if !ok || !Equal(a.values[i], other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// Maps is a plain value with a map for each object, as libraries that know no
// order of keys want it.
func Maps(value any) any {
	switch v := value.(type) {
	case *Object:
		object := make(map[string]any, v.Len())
		for i := range v.Len() {
			key, item := v.At(i)
			object[key] = Maps(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = Maps(v[i])
		}
		return list
	}
	return value
}
