package record

import (
	"bytes"
	"cmp"
	"errors"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RunHead is what a run is of, and where its record stands.
type RunHead struct {
	ID            string
	Configuration string
	Task          string
	Trial         int
	Status        Status
	Returned      int // the iteration whose output is returned, 0: none
	Iterations    int
	At            Place

	version int
}

// decoders read the front of lines.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(&bytes.Buffer{}, lineJSON) }}

// readStatus reads the front part of a record and leaves the rest: version, id and status.
func readStatus(object []byte) (head RunHead, err error) {
	d := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(object), lineJSON)
	if _, err := d.ReadToken(); err != nil {
		return head, err
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return head, err
		}
		switch key.String() {
		case "v":
			err = json.UnmarshalDecode(d, &head.version)
		case "run":
			err = json.UnmarshalDecode(d, &head.ID)
		case "outcome":
			var outcome struct {
				Status Status `json:"status"`
			}
			err = json.UnmarshalDecode(d, &outcome)
			head.Status = outcome.Status
			return head, cmp.Or(err, knownVersion(head.version))
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return head, err
		}
	}
	return head, errors.New("it has no outcome")
}

// headOf reads all that a RunHead holds.
func headOf(object []byte) (RunHead, error) {
	var line struct {
		Version       int        `json:"v"`
		ID            string     `json:"run"`
		Configuration string     `json:"configuration"`
		Task          string     `json:"task"`
		Trial         int        `json:"trial"`
		Outcome       Outcome    `json:"outcome"`
		Iterations    []struct{} `json:"iterations"`
	}
	err := decode(object, &line)
	head := RunHead{
		ID: line.ID, Configuration: line.Configuration, Task: line.Task, Trial: line.Trial, Status: line.Outcome.Status,
		Returned: line.Outcome.Returned, Iterations: len(line.Iterations), version: line.Version,
	}
	return head, cmp.Or(err, knownVersion(line.Version), validTrial(line.Trial), noneReturned(head.Returned, head.Iterations))
}
