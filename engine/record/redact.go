package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"time"
)

// errSecretName is about a run whose id cannot be written.
var errSecretName = errors.New("the name of its task or configuration is, or looks like, a secret; name it otherwise")

// runLine encodes a run without its secrets.
func (j *Journal) runLine(run *Run) ([]byte, error) {
	line, err := lineOfRun(run)
	if err != nil || !j.secret(line) {
		return line, err
	}
	object, err := unseal(line[:len(line)-1])
	if err != nil {
		return nil, err
	}
	clean, err := readRun(object)
	if err != nil {
		return nil, err
	}
	redactTexts(reflect.ValueOf(clean).Elem(), j.redact)
	if clean.ID != run.ID {
		return nil, errSecretName
	}
	return lineOfRun(clean)
}

// scoresLine encodes scores without secrets.
func (j *Journal) scoresLine(run string, scores []Score, snapshots []Snapshot) ([]byte, error) {
	line, err := lineOfScores(run, scores, snapshots)
	if err != nil || !j.secret(line) {
		return line, err
	}
	object, err := unseal(line[:len(line)-1])
	if err != nil {
		return nil, err
	}
	clean, err := readScores(object)
	if err != nil {
		return nil, err
	}
	redactTexts(reflect.ValueOf(&clean), j.redact)
	return lineOfScores(run, clean.Scores, clean.Snapshots)
}

// secret reports whether a text holds something that must not be written.
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
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				redactTexts(v.Index(i), redact)
			}
			return
		}
		clean := redact(v.Bytes())
		if v.Type() == reflect.TypeFor[json.RawMessage]() && v.Len() > 0 && !json.Valid(clean) {
			clean = []byte(`"[redacted]"`)
		}
		v.SetBytes(clean)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			redactTexts(v.Field(i), redact)
		}
	}
}
