package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"
)

// errSecretName is about a run whose id cannot be written.
var errSecretName = errors.New("the name of its task or configuration is, or looks like, a secret; name it otherwise")

// runLine encodes a run without its secrets, and gives the run as its line has
// it: what is derived from a record can be derived from the line alone.
func (j *Journal) runLine(dst []byte, run *Run) ([]byte, *Run, error) {
	line, err := appendRun(dst, run)
	if err != nil || !j.secret(line[len(dst):]) {
		return line, run, err
	}
	object, err := unseal(bytes.Clone(line[len(dst) : len(line)-1]))
	if err != nil {
		return nil, nil, err
	}
	clean, err := readRun(object)
	if err != nil {
		return nil, nil, err
	}
	redactTexts(reflect.ValueOf(clean).Elem(), j.redact)
	if clean.ID != run.ID {
		return nil, nil, errSecretName
	}
	line, err = appendRun(dst, clean)
	return line, clean, err
}

// scoresLine encodes scores without secrets.
func (j *Journal) scoresLine(dst []byte, run string, scores []Score) ([]byte, error) {
	line, err := appendScores(dst, run, scores)
	if err != nil || !j.secret(line[len(dst):]) {
		return line, err
	}
	scores = slices.Clone(scores)
	for i := range scores {
		scores[i].Votes = slices.Clone(scores[i].Votes)
	}
	redactTexts(reflect.ValueOf(scores), j.redact)
	return appendScores(dst, run, scores)
}

// secret says whether a text holds something that must not be written.
func (j *Journal) secret(text []byte) bool {
	return j.redact != nil && !bytes.Equal(j.redact(text), text)
}

// redactTexts redacts every text and every JSON value in a record. Words of a
// closed list, such as a status, have types of their own and stay.
func redactTexts(v reflect.Value, redact func([]byte) []byte) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() {
			v.SetString(string(redact([]byte(v.String()))))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			redactTexts(v.Elem(), redact)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(redactJSON(v.Bytes(), redact))
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(redact(v.Bytes()))
			return
		}
		for i := range v.Len() {
			redactTexts(v.Index(i), redact)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			redactTexts(v.Field(i), redact)
		}
	}
}

// redactJSON gives up a value that would be none any more.
func redactJSON(value []byte, redact func([]byte) []byte) []byte {
	clean := redact(value)
	if len(value) > 0 && !json.Valid(clean) {
		return []byte(`"[redacted]"`)
	}
	return clean
}
