package textual

import "math"

const maxOrder = 4 // tokens of the longest run that BLEU counts

// Stats are what BLEU is computed from (K. Papineni et al., BLEU: a method for automatic evaluation of machine
// translation, 2002). Those of a corpus are the sum of those of its texts.
type Stats struct {
	Matches [maxOrder]int // runs of 1, 2, 3, 4 tokens that a target has as well
	Totals  [maxOrder]int // all runs of the answer
	Answer  int           // tokens of the answer
	Target  int           // tokens of the target whose length is nearest
}

// StatsOf are the statistics of an answer beside its targets, in the tokens of Tokens13a. A run counts as often as the
// one target has it that has it most often.
func StatsOf(answer string, targets ...string) Stats {
	got := Tokens13a(answer)
	s := Stats{Answer: len(got)}
	var wanted []map[gram]int
	vocabulary := map[string]int32{}
	for i, target := range targets {
		want := Tokens13a(target)
		if i == 0 || nearer(len(want), s.Target, len(got)) {
			s.Target = len(want)
		}
		wanted = append(wanted, gramsOf(known(vocabulary, want, true)))
	}
	answered := known(vocabulary, got, false)
	for n := range maxOrder {
		s.Totals[n] = max(len(got)-n, 0)
	}
	for g, count := range gramsOf(answered) {
		most := 0
		for _, target := range wanted {
			most = max(most, target[g])
		}
		s.Matches[g.order()-1] += min(count, most)
	}
	return s
}

// nearer: a is nearer to length than b is, or as near and shorter.
func nearer(a, b, length int) bool {
	x, y := max(a-length, length-a), max(b-length, length-b)
	return x < y || x == y && a < b
}

// Plus are the statistics of both.
func (s Stats) Plus(t Stats) Stats {
	for n := range maxOrder {
		s.Matches[n] += t.Matches[n]
		s.Totals[n] += t.Totals[n]
	}
	s.Answer += t.Answer
	s.Target += t.Target
	return s
}

// BLEU of a corpus, as sacreBLEU computes it by default: an order without a match counts as a half, the next such one
// as a quarter, and so on (smoothing "exp"), and one that the whole corpus is too short for as nothing.
func (s Stats) BLEU() float64 { return s.bleu(false) }

// BLEU is that of a single answer, as sacreBLEU's sentence_bleu computes it: as that of a corpus, but orders that the
// answer is too short for are left out ("effective order").
func BLEU(answer string, targets ...string) float64 { return StatsOf(answer, targets...).bleu(true) }

func (s Stats) bleu(effective bool) float64 {
	if s.Matches == [maxOrder]int{} {
		return 0
	}
	sum, smooth, order := 0.0, 1.0, 0
	for ; order < maxOrder && s.Totals[order] > 0; order++ {
		matches := float64(s.Matches[order])
		if matches == 0 {
			smooth /= 2
			matches = smooth
		}
		sum += math.Log(matches / float64(s.Totals[order]))
	}
	if order < maxOrder && !effective {
		return 0
	}
	return s.brevity() * math.Exp(sum/float64(order))
}

// brevity is the penalty of what is shorter than its target.
func (s Stats) brevity() float64 {
	if s.Answer >= s.Target {
		return 1
	}
	return math.Exp(1 - float64(s.Target)/float64(s.Answer))
}

// gram is a run of tokens, told by their numbers from 1; 0 stands where it ends before.
type gram [maxOrder]int32

func (g gram) order() int {
	n := maxOrder
	for n > 0 && g[n-1] == 0 {
		n--
	}
	return n
}

// gramsOf counts the runs of tokens that are known: no other can match.
func gramsOf(tokens []int32) map[gram]int {
	found := map[gram]int{}
	for i := range tokens {
		var g gram
		for n := 0; n < maxOrder && i+n < len(tokens) && tokens[i+n] != 0; n++ {
			g[n] = tokens[i+n]
			found[g]++
		}
	}
	return found
}

// known are the numbers of tokens in a vocabulary, which grows by new ones or has 0 for them.
func known(vocabulary map[string]int32, tokens []string, grows bool) []int32 {
	numbers := make([]int32, len(tokens))
	for i, token := range tokens {
		n := vocabulary[token]
		if n == 0 && grows {
			n = int32(len(vocabulary) + 1)
			vocabulary[token] = n
		}
		numbers[i] = n
	}
	return numbers
}
