package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// readSpec reads what is wanted of the resolved spec in a manifest, numbers as
// they are written. The error says in the words of YAML what is wrong.
func readSpec(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("reading the resolved spec: %s is %s, want %s", cmp.Or(strings.ToLower(kind.Field), "it"), cmp.Or(jsonKinds[kind.Value], kind.Value), wantedKind(kind.Type.Kind()))
	case err != nil:
		return fmt.Errorf("reading the resolved spec: %w", err)
	}
	return nil
}

// jsonKinds are the kinds of values, by the words of encoding/json.
var jsonKinds = map[string]string{"array": "a list", "object": "a map", "string": "a text", "number": "a number", "bool": "true or false"}

func wantedKind(k reflect.Kind) string {
	switch k {
	case reflect.Map, reflect.Struct:
		return "a map"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a text"
	}
	return "a number"
}
