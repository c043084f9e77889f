package record

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
)

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
			further, err := m.scoredFurther(chosen, next)
			if err != nil {
				return err
			}
			if further {
				chosen = next
			}
		}
		kept = append(kept, chosen...)
	}
	m.scores = kept
	return nil
}

// scoredFurther says whether the scores of a run are to be kept as the other part
// has them: where it was scored on from where the one stands. Where the same
// scores count in both, the fewer lines are kept, of as many those that come first;
// where neither goes on from the other, they contradict each other.
func (m *merger) scoredFurther(one, other []mergedScores) (bool, error) {
	was, before, err := m.scoresOf(one)
	if err != nil {
		return false, err
	}
	is, now, err := m.scoresOf(other)
	if err != nil {
		return false, err
	}
	switch {
	case reflect.DeepEqual(counting(before), counting(now)):
		return cmp.Or(cmp.Compare(len(other), len(one)), bytes.Compare(is, was)) < 0, nil
	case bytes.HasPrefix(is, was):
		return true, nil
	case bytes.HasPrefix(was, is):
		return false, nil
	}
	return false, m.contradiction(one[0].part, other[0].part, m.records[one[0].run].run, "the scores")
}

// scoresOf are the lines of a run in a part, and the scores in them.
func (m *merger) scoresOf(lines []mergedScores) (text []byte, scores []Score, err error) {
	in := new(reader)
	for _, at := range lines {
		line, err := m.line(nil, 2, at.part, at.line)
		if err != nil {
			return nil, nil, err
		}
		text = append(text, line...)
		object, err := unseal(line[:len(line)-1])
		if err != nil {
			return nil, nil, err
		}
		_, more, err := in.readScores(object)
		if err != nil {
			return nil, nil, err
		}
		scores = append(scores, more...)
	}
	return text, scores, nil
}

// counting are the scores that count, in an order that does not depend on when
// they were made. What came from a cache makes no difference.
func counting(scores []Score) []Score {
	standing := Standing(scores)
	for i := range standing {
		standing[i].Votes = slices.Clone(standing[i].Votes)
		for k := range standing[i].Votes {
			standing[i].Votes[k].Cached = false
		}
	}
	slices.SortFunc(standing, func(a, b Score) int {
		return cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Name, b.Name))
	})
	return standing
}
