package textual

// Levenshtein is 1 - distance / length of the longer text, in code points. Two empty texts are alike. It fails where
// the texts are too long.
func Levenshtein(a, b string) (float64, error) {
	all, others := []rune(a), []rune(b)
	longer := max(len(all), len(others))
	if longer == 0 {
		return 1, nil
	}
	x, y := differing(all, others)
	if tooLong(len(x), len(y)) {
		return 0, errTooLong("characters", len(all), len(others))
	}
	return 1 - float64(distance(x, y))/float64(longer), nil
}

// differing are two texts without the beginning and the end that they share.
func differing(x, y []rune) ([]rune, []rune) {
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return x, y
}

// distance is the number of insertions, deletions and replacements between two texts. It fills 64 rows of the table at
// a time. Within them only the differences between neighbours are kept, as bits, and below them the differences
// between columns (G. Myers, A fast bit-vector algorithm for approximate string matching based on dynamic programming,
// J. ACM 46, 1999).
func distance(x, y []rune) int {
	rows, columns, n := numbered(x, y)
	below := make([]int8, len(y))
	for i := range below {
		below[i] = 1 // the first row counts up
	}
	equal := make([]uint64, n)
	for len(rows) > 0 {
		block := rows[:min(64, len(rows))]
		rows = rows[len(block):]
		mark(equal, block)
		last := uint64(1) << (len(block) - 1)
		s := steps{up: ^uint64(0)} // so does the first column
		for j, item := range columns {
			below[j] = s.advance(equal[item], below[j], last)
		}
		unmark(equal, block)
	}
	score := len(x)
	for _, step := range below {
		score += int(step)
	}
	return score
}

// mark tells of each item in which rows of the block it stands.
func mark(equal []uint64, block []int32) {
	for i, item := range block {
		equal[item] |= 1 << i
	}
}

func unmark(equal []uint64, block []int32) {
	for _, item := range block {
		equal[item] = 0
	}
}

// steps are the differences of 64 cells from those above them: where a bit of up is set it is 1, of down -1.
type steps struct{ up, down uint64 }

// advance goes on by a column whose items are equal to that of the rows that equal tells. above is the difference of
// the cell above from its neighbour in the column before; the result is that of the cell in the row of the bit last.
func (s *steps) advance(equal uint64, above int8, last uint64) (below int8) {
	vertical := equal | s.down
	if above < 0 {
		equal |= 1
	}
	diagonal := (equal&s.up + s.up) ^ s.up | equal
	up, down := s.down|^(diagonal|s.up), s.up&diagonal
	switch {
	case up&last != 0:
		below = 1
	case down&last != 0:
		below = -1
	}
	up, down = up<<1, down<<1
	switch above {
	case 1:
		up |= 1
	case -1:
		down |= 1
	}
	s.up, s.down = down|^(vertical|up), up&vertical
	return below
}
