package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// runLine is a run as its line holds it. Texts that are not UTF-8 stand in the
// run with U+FFFD for each bad byte, as JSON demands, and whole in Raw.
type runLine struct {
	*Run
	Raw []rawText `json:"raw,omitempty"`
}

// appendRun appends the run as a line.
func appendRun(dst []byte, r *Run) ([]byte, error) {
	line, err := appendRunLine(dst, r)
	if err != nil {
		return nil, fmt.Errorf("the record of run %s cannot be written: %w", r.ID, err)
	}
	return line, nil
}

func appendRunLine(dst []byte, r *Run) ([]byte, error) {
	if r.Iterations == nil { // a list also where it is empty
		with := *r
		with.Iterations = []Iteration{}
		r = &with
	}
	line, err := appendObject(dst, r)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(line[len(dst):], []byte(`\ufffd`)) { // how encoding/json writes a bad byte
		if line, err = appendObject(dst, &runLine{Run: r, Raw: rawTexts(r)}); err != nil {
			return nil, err
		}
	}
	return seal(line, len(dst))
}

func appendObject(dst []byte, object any) ([]byte, error) {
	b := bytes.NewBuffer(append(dst, lineHead...))
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// readRun reads the object of a line.
func readRun(object []byte) (*Run, error) {
	line := runLine{Run: &Run{}}
	if err := json.Unmarshal(object, &line); err != nil {
		return nil, err
	}
	if len(line.Iterations) == 0 {
		line.Iterations = nil
	}
	if len(line.Raw) > 0 {
		restoreRawTexts(line.Run, line.Raw)
	}
	return line.Run, nil
}
