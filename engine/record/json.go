package record

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// lineJSON are the options of lines: numbers of nanoseconds, empty values left out and nil lists as null as in
// encoding/json, map keys in their order, and characters as they are but for those that end a line of JavaScript.
var lineJSON = json.JoinOptions(
	jsonv1.OmitEmptyWithLegacySemantics(true), jsonv1.FormatDurationAsNano(true),
	json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true), json.Deterministic(true),
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true),
	jsontext.PreserveRawStrings(true),
)

// appendJSON appends a value as one line of JSON.
func appendJSON(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(b, v, lineJSON); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads a whole text into a value. Keys without a field are passed over, unless options say otherwise.
func decode(text []byte, into any, options ...json.Options) error {
	return plainly(json.Unmarshal(text, into, append([]json.Options{lineJSON}, options...)...))
}

// plainly says in JSON's words what is wrong with a text.
func plainly(err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the key %q twice", syntax.JSONPointer.LastToken())
	case errors.As(err, &meaning) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown key %q", meaning.JSONPointer.LastToken())
	case errors.As(err, &meaning) && meaning.JSONPointer != "":
		return fmt.Errorf("unexpected JSON at %s", meaning.JSONPointer)
	case errors.As(err, &syntax):
		return fmt.Errorf("unexpected JSON at byte %d", syntax.ByteOffset)
	}
	return errors.New("unexpected JSON")
}
