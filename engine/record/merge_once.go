package record

import "bytes"

// keepOnce leaves of each run the records of one part.
func (m *merger) keepOnce() error {
	kept := m.records[:0]
	for of, rest := ofOneRun(m.records); len(of) > 0; of, rest = ofOneRun(rest) {
		chosen, err := m.choose(of)
		if err != nil {
			return err
		}
		kept = append(kept, chosen...)
	}
	m.records = kept
	return nil
}

func ofOneRun(records []mergedRecord) (of, rest []mergedRecord) {
	return splitOff(records, func(a, b *mergedRecord) bool { return a.run == b.run })
}

// splitOff gives the elements at the front that are like the first one.
func splitOff[E any](list []E, alike func(a, b *E) bool) (front, rest []E) {
	n := min(1, len(list))
	for n < len(list) && alike(&list[0], &list[n]) {
		n++
	}
	return list[:n], list[n:]
}

// choose gives the records of one part among those of a run.
func (m *merger) choose(records []mergedRecord) ([]mergedRecord, error) {
	onePart := func(a, b *mergedRecord) bool { return a.part == b.part }
	chosen, rest := splitOff(records, onePart)
	for len(rest) > 0 {
		var next []mergedRecord
		next, rest = splitOff(rest, onePart)
		better, err := m.better(&chosen[len(chosen)-1], &next[len(next)-1])
		if err != nil {
			return nil, err
		}
		if better {
			chosen = next
		}
	}
	return chosen, nil
}

// better says whether a run is to be kept as the other part has it: where only
// that counts; of two that do, or do not, the one whose line comes first.
func (m *merger) better(one, other *mergedRecord) (bool, error) {
	counts := func(r *mergedRecord) bool { return r.status == Completed || r.status == Failed }
	if counts(one) != counts(other) {
		return counts(other), nil
	}
	line, err := m.line(nil, 0, one.part, one.record)
	if err != nil {
		return false, err
	}
	otherLine, err := m.line(nil, 0, other.part, other.record)
	if err != nil {
		return false, err
	}
	first := bytes.Compare(line, otherLine)
	if first == 0 || !counts(one) {
		return first > 0, nil
	}
	same, err := sameRun(line, otherLine)
	if err == nil && !same {
		err = m.contradiction(one.part, other.part, one.run, "the record")
	}
	return first > 0, err
}

func (m *merger) contradiction(one, other int32, run, what string) error {
	return &Contradiction{Run: run, One: m.parts[one].Dir, Other: m.parts[other].Dir, What: what}
}

// sameRun says whether two lines hold the same but for what is volatile.
func sameRun(line, other []byte) (bool, error) {
	one, err := lasting(line)
	if err != nil {
		return false, err
	}
	two, err := lasting(other)
	return bytes.Equal(one, two), err
}

// lasting is a record's line without what is volatile. It changes the line.
func lasting(line []byte) ([]byte, error) {
	object, err := unseal(bytes.TrimSuffix(line, []byte{'\n'}))
	if err != nil {
		return nil, err
	}
	run, err := readRun(object)
	if err != nil {
		return nil, err
	}
	return appendRun(nil, run.Lasting())
}

// scoreOnce leaves of each run the scores of one part.
func (m *merger) scoreOnce() error {
	oneRun := func(a, b *mergedScores) bool { return a.run == b.run }
	onePart := func(a, b *mergedScores) bool { return a.part == b.part }
	kept := m.scores[:0]
	for of, rest := splitOff(m.scores, oneRun); len(of) > 0; of, rest = splitOff(rest, oneRun) {
		chosen, others := splitOff(of, onePart)
		for len(others) > 0 {
			var next []mergedScores
			next, others = splitOff(others, onePart)
			if err := m.sameScores(chosen, next); err != nil {
				return err
			}
		}
		kept = append(kept, chosen...)
	}
	m.scores = kept
	return nil
}

// sameScores compares what two parts say about a run.
func (m *merger) sameScores(one, other []mergedScores) error {
	same := len(one) == len(other)
	for i := 0; i < len(one) && same; i++ {
		line, err := m.line(nil, 2, one[i].part, one[i].line)
		if err != nil {
			return err
		}
		otherLine, err := m.line(nil, 2, other[i].part, other[i].line)
		if err != nil {
			return err
		}
		same = bytes.Equal(line, otherLine)
	}
	if same {
		return nil
	}
	return m.contradiction(one[0].part, other[0].part, m.records[one[0].run].run, "the scores")
}
