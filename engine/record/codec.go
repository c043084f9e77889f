package record

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// rawText is a text of a run that is not UTF-8, whole.
type rawText struct {
	At    string `json:"at"`     // for example iterations/0/calls/0/stderr
	Bytes []byte `json:"base64"` // encoding/json writes bytes as base64
}

// eachText visits every string in a record with its path in the JSON. JSON
// values in it (json.RawMessage) are not among them.
func eachText(v reflect.Value, at string, visit func(at string, text reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		visit(strings.TrimPrefix(at, "/"), v)
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), at, visit)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			eachText(v.Index(i), at+"/"+strconv.Itoa(i), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			eachText(v.Field(i), at+"/"+name, visit)
		}
	}
}

// badByte is how a byte that is not UTF-8 is written.
const badByte = "\ufffd"

// runLine is a run as its line holds it. Texts that are not UTF-8 have U+FFFD in the run
// for each bad byte, as JSON demands, and are whole in Raw.
type runLine struct {
	Run
	Raw []rawText `json:"raw,omitempty"`
}

// appendObject appends lineHead and the object of a line; seal turns both into the line.
func appendObject(dst []byte, v any) ([]byte, error) { return appendJSON(append(dst, lineHead...), v) }

func appendLine(dst []byte, v any) ([]byte, error) {
	line, err := appendObject(dst, v)
	if err != nil {
		return nil, err
	}
	return seal(line, len(dst))
}

// unwritten names the run of which something cannot be written.
func unwritten(what, run string, line []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("the %s of run %s cannot be written: %w", what, run, err)
	}
	return line, nil
}

// roomOf is about how many bytes the texts of a run take: a buffer that grows with them is there twice for a while. Least is what
// they take at least: a text is written as long as it is, or longer.
func roomOf(r *Run) (room, least int) {
	const others = 1 << 10 // of an iteration
	room = others
	for i := range r.Iterations {
		it := &r.Iterations[i]
		room += len(it.Output) + len(it.Thinking) + others
		if least += len(it.Thinking); bytes.HasPrefix(it.Output, []byte{'"'}) {
			least += len(it.Output)
		}
	}
	return room, least
}

// lineOfRun is the line of a run.
func lineOfRun(r *Run) ([]byte, error) {
	room, least := roomOf(r)
	if least >= longestLine {
		return unwritten("record", r.ID, nil, tooLong(least))
	}
	r = r.withDigests()
	line, err := appendObject(make([]byte, 0, room), r)
	if err == nil && bytes.Contains(line, []byte(badByte)) {
		whole := &runLine{Run: *r}
		eachText(reflect.ValueOf(r).Elem(), "", func(at string, text reflect.Value) {
			if s := text.String(); !utf8.ValidString(s) {
				whole.Raw = append(whole.Raw, rawText{At: at, Bytes: []byte(s)})
			}
		})
		line, err = appendObject(nil, whole)
	}
	if err == nil {
		line, err = seal(line, 0)
	}
	return unwritten("record", r.ID, line, err)
}

// readRun reads the object of a line.
func readRun(object []byte) (*Run, error) {
	line := &runLine{}
	if err := decode(object, line); err != nil {
		return nil, err
	}
	if len(line.Iterations) == 0 {
		line.Iterations = nil
	}
	if len(line.Raw) > 0 {
		whole := make(map[string][]byte, len(line.Raw))
		for _, raw := range line.Raw {
			whole[raw.At] = raw.Bytes
		}
		eachText(reflect.ValueOf(&line.Run).Elem(), "", func(at string, text reflect.Value) {
			if bytes, ok := whole[at]; ok {
				text.SetString(string(bytes))
			}
		})
	}
	return &line.Run, line.checkDigests()
}

// runOf reads a record, and refuses what another version has written, and what cannot be.
func runOf(object []byte) (*Run, error) {
	run, err := readRun(object)
	if err != nil {
		return nil, err
	}
	return run, cmp.Or(knownVersion(run.Version), run.impossible())
}

// A line of scores.jsonl holds all scores that were made of a run at one time,
// so that a crash leaves all of them or none; those of states of its workspace stand
// in snapshots:
//
//	{"crc":"…","run":"default/backend-1/1","scores":[{"name":"close","value":1}, …]}
type scoresLine struct {
	Run       string     `json:"run"`
	Scores    []Score    `json:"scores"`
	Snapshots []Snapshot `json:"snapshots,omitempty"`
}

// lineOfScores is the line of scores of one run.
func lineOfScores(run string, scores []Score, snapshots []Snapshot) ([]byte, error) {
	l := scoresLine{run, scores, snapshots}
	if scores == nil {
		l.Scores = []Score{} // a list also where it is empty
	}
	const others = 128 // of a score
	room := others
	for i := range scores {
		room += others + len(scores[i].Answer) + len(scores[i].Explanation)
	}
	line, err := appendLine(make([]byte, 0, room), &l)
	return unwritten("scores", run, line, err)
}

func readScores(object []byte) (line scoresLine, err error) {
	err = decode(object, &line)
	for i := range line.Scores {
		line.Scores[i].Run = line.Run
	}
	for i := range line.Snapshots {
		line.Snapshots[i].of(line.Run)
	}
	return line, err
}

// scoresOf reads scores, and refuses what cannot be.
func scoresOf(object []byte) (scoresLine, error) {
	line, err := readScores(object)
	for i := range line.Scores {
		s := &line.Scores[i]
		if err == nil && s.Usage.negative() {
			err = errNegative
		}
		err = cmp.Or(err, noIteration(s.Iteration))
	}
	for i := range line.Snapshots {
		err = cmp.Or(err, line.Snapshots[i].impossible())
	}
	return line, err
}

func scoredOf(object []byte) (Scored, error) {
	line, err := reading[Scored](object)
	for i := range line.Scores {
		err = cmp.Or(err, noIteration(line.Scores[i].Iteration))
	}
	return line, err
}

// EncodeRun is the line that a journal would write of a run, for who keeps it elsewhere:
// with its checksum, and without secrets.
func EncodeRun(run *Run, options Options) ([]byte, error) {
	return (&Journal{redact: options.Redact}).runLine(run)
}

// DecodeRun reads what EncodeRun wrote.
func DecodeRun(line []byte) (*Run, error) {
	object, err := unseal(bytes.TrimSuffix(bytes.Clone(line), []byte("\n")))
	if err != nil {
		return nil, err
	}
	return runOf(object)
}
