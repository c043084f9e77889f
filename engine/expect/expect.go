// Package expect compares what tests got with what they want. Equal shows both where they differ, and the test continues; NoError
// ends it.
//
// It is no stable API.
package expect

import "reflect"

// Equal is an error of a test where two values differ in anything that they hold; what tells which case it is.
func Equal[V any](t interface {
	Helper()
	Errorf(string, ...any)
}, what any, got, want V) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v:\n got %+v\nwant %+v", what, got, want)
	}
}

// NoError ends a test at an error.
func NoError(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
