package propertytest

// Must ends a test, or a case of a property, at an error.
func Must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
