package textual

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

const maxOrder = 4 // tokens of the longest run that BLEU counts

// stats are what BLEU is computed from (K. Papineni et al., BLEU: a method for automatic evaluation of machine
// translation, 2002). Those of a corpus are the sum of those of its texts.
type stats struct {
	Matches [maxOrder]int // runs of 1, 2, 3, 4 tokens that a target has as well
	Totals  [maxOrder]int // all runs of the answer
	Answer  int           // tokens of the answer
	Target  int           // tokens of the target whose length is nearest
}

// statsOf are the statistics of an answer beside its targets, in the tokens of tokens13a. A run counts as often as the
// one target has it that has it most often.
func statsOf(answer string, targets ...string) stats {
	got := tokens13a(answer)
	s := stats{Answer: len(got)}
	var wanted []map[gram]int
	vocabulary := map[string]int32{}
	for i, target := range targets {
		want := tokens13a(target)
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
		order := maxOrder
		for g[order-1] == 0 {
			order--
		}
		s.Matches[order-1] += min(count, most)
	}
	return s
}

// nearer reports whether a is nearer to length than b is, or as near and shorter.
func nearer(a, b, length int) bool {
	x, y := max(a-length, length-a), max(b-length, length-b)
	return x < y || x == y && a < b
}

// BLEU is that of a single answer, as sacreBLEU's sentence_bleu computes it.
func BLEU(answer string, targets ...string) float64 { return statsOf(answer, targets...).bleu() }

// bleu is as sacreBLEU computes it: an order without a match counts as a half, the next such one as a quarter, and so on
// (smoothing "exp"); orders that the answer is too short for are left out (effective order).
func (s stats) bleu() float64 {
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
	return s.brevity() * math.Exp(sum/float64(order))
}

// brevity is the penalty of what is shorter than its target.
func (s stats) brevity() float64 {
	if s.Answer >= s.Target {
		return 1
	}
	return math.Exp(1 - float64(s.Target)/float64(s.Answer))
}

// gram is a run of tokens by their numbers from 1; 0 follows the last.
type gram [maxOrder]int32

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

// Levenshtein is 1 - distance / length of the longer text, in code points. Two empty texts are alike. It fails where
// the texts are too long.
func Levenshtein(a, b string) (float64, error) {
	x, y := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	switch {
	case a == b:
		return 1, nil
	case tooLong(x, y):
		return 0, errTooLong("characters", x, y)
	}
	return 1 - float64(levenshtein.ComputeDistance(a, b))/float64(max(x, y)), nil
}

// JaroWinkler is the similarity of Jaro with Winkler's bonus for a shared beginning: 0.1 for each of at most four code
// points, where the similarity is above 0.7 without it (W. E. Winkler, String comparator metrics and enhanced decision
// rules in the Fellegi-Sunter model of record linkage, 1990, and the program strcmp95 of the Census Bureau). Two empty
// texts are alike.
func JaroWinkler(a, b string) float64 {
	const scale, longest, enough = 0.1, 4, 0.7
	x, y := []rune(a), []rune(b)
	similarity := jaro(x, y)
	if similarity <= enough {
		return similarity
	}
	prefix := 0
	for prefix < min(len(x), len(y), longest) && x[prefix] == y[prefix] {
		prefix++
	}
	return similarity + float64(prefix)*scale*(1-similarity)
}

// jaro is the mean of the shares of both texts that are in the other one, near the same place, and of those in the same
// order.
func jaro(x, y []rune) float64 {
	if len(x) == 0 && len(y) == 0 {
		return 1
	}
	inX, inY := assigned(x, y)
	if len(inX) == 0 {
		return 0
	}
	slices.Sort(inY)
	moved := 0
	for i, at := range inY {
		if x[inX[i]] != y[at] {
			moved++
		}
	}
	m := float64(len(inX))
	return (m/float64(len(x)) + m/float64(len(y)) + (m-float64(moved/2))/m) / 3
}

// assigned gives each code point of x, in order, the first equal one of y that is free and not too far away. As what is
// too far behind stays so, one pass is enough.
func assigned(x, y []rune) (inX, inY []int) {
	window := max(max(len(x), len(y))/2-1, 0)
	free := map[rune][]int{}
	for i, r := range y {
		free[r] = append(free[r], i)
	}
	for i, r := range x {
		queue := free[r]
		for len(queue) > 0 && queue[0] < i-window {
			queue = queue[1:]
		}
		if len(queue) > 0 && queue[0] <= i+window {
			inX, inY = append(inX, i), append(inY, queue[0])
			queue = queue[1:]
		}
		free[r] = queue
	}
	return inX, inY
}

// Overlap is what an answer and a target have in common: the share of what the answer has, the share of what the target
// has, and the harmonic mean of both.
type Overlap struct{ Precision, Recall, F1 float64 }

// overlapOf is the overlap of so many items of which so many are shared.
func overlapOf(shared, answer, target int) Overlap {
	if shared == 0 {
		return Overlap{}
	}
	p, r := float64(shared)/float64(answer), float64(shared)/float64(target)
	return Overlap{p, r, 2 * p * r / (p + r)}
}

func counts[K comparable](items []K) map[K]int {
	n := make(map[K]int, len(items))
	for _, item := range items {
		n[item]++
	}
	return n
}

func shared[K comparable](a, b map[K]int) int {
	n := 0
	for item, count := range a {
		n += min(count, b[item])
	}
	return n
}

// RougeN is the overlap of the runs of n tokens, as Google's rouge_score computes it without its stemmer: tokens are
// runs of ASCII letters and digits of the text in lower case, so that a text in other letters has none.
func RougeN(answer, target string, n int) Overlap {
	got, want := grams(rougeTokens(answer), n), grams(rougeTokens(target), n)
	return overlapOf(shared(counts(got), counts(want)), len(got), len(want))
}

// RougeL is the overlap of which the longest common subsequence of both texts' tokens is shared. It fails where the
// texts are too long.
func RougeL(answer, target string) (Overlap, error) {
	got, want := rougeTokens(answer), rougeTokens(target)
	if tooLong(len(got), len(want)) {
		return Overlap{}, errTooLong("tokens", len(got), len(want))
	}
	return overlapOf(Subsequence(got, want), len(got), len(want)), nil
}

func rougeTokens(s string) []string {
	var tokens []string
	var word []byte
	end := func() {
		if len(word) > 0 {
			tokens, word = append(tokens, string(word)), word[:0]
		}
	}
	for _, r := range s {
		lower := unicode.ToLower(r)
		if lower > unicode.MaxASCII || !isASCIIWord(lower) {
			end()
			continue
		}
		word = append(word, byte(lower))
		if r == 'İ' { // in lower case it is i and a dot, and that is no letter
			end()
		}
	}
	end()
	return tokens
}

// grams are the runs of n tokens that hold no white space.
func grams(tokens []string, n int) []string {
	if n == 1 {
		return tokens
	}
	found := make([]string, 0, max(len(tokens)-n+1, 0))
	for i := 0; i+n <= len(tokens); i++ {
		found = append(found, strings.Join(tokens[i:i+n], " "))
	}
	return found
}

// Subsequence is the length of the longest list that is left of both when items are left out of them.
func Subsequence(x, y []string) int {
	number := map[string]int{}
	numbered := func(tokens []string) []int {
		numbers := make([]int, len(tokens))
		for i, token := range tokens {
			if number[token] == 0 {
				number[token] = len(number) + 1
			}
			numbers[i] = number[token]
		}
		return numbers
	}
	rows, columns := numbered(x), numbered(y)
	above, row := make([]int32, len(y)+1), make([]int32, len(y)+1)
	for _, item := range rows {
		for j, other := range columns {
			if item == other {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(row[j], above[j+1])
			}
		}
		above, row = row, above
	}
	return int(above[len(y)])
}

// SQuAD is a text in the normalisation of SQuAD's official script (evaluate-v2.0.py): in lower case, without ASCII
// punctuation and the articles a, an and the, with single spaces.
func SQuAD(s string) string { return strings.Join(squadTokens(s), " ") }

// F1 is the overlap of the tokens of SQuAD's normalisation. Where one of the texts has none it is 1 if both have none.
func F1(answer, target string) Overlap {
	got, want := squadTokens(answer), squadTokens(target)
	if len(got) == 0 || len(want) == 0 {
		if len(got) == len(want) {
			return Overlap{1, 1, 1}
		}
		return Overlap{}
	}
	return overlapOf(shared(counts(got), counts(want)), len(got), len(want))
}

func squadTokens(s string) []string {
	s = cases.Lower(language.Und).String(s) // a sigma at the end of a word is the final one, as in Python
	s = strings.Map(func(r rune) rune {
		if isASCIIPunctuation(r) {
			return -1
		}
		return r
	}, s)
	return strings.FieldsFunc(withoutArticles(s), isSpace)
}

// isASCIIPunctuation is Python's string.punctuation.
func isASCIIPunctuation(r rune) bool { return r > ' ' && r < 0x7f && !isASCIIWord(r) }

func isASCIIWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// withoutArticles puts a space for every article that stands between what is no part of a word.
func withoutArticles(s string) string {
	var b strings.Builder
	begin := -1 // of the word that goes on
	end := func(at int) {
		if begin < 0 {
			return
		}
		switch word := s[begin:at]; word {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		begin = -1
	}
	for i, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
			b.WriteRune(r)
		case begin < 0:
			begin = i
		}
	}
	end(len(s))
	return b.String()
}

// entities are what is read as something else before tokens are looked for, one after the other.
var entities = [][2]string{
	{"<skipped>", ""}, {"-\n", ""}, {"\n", " "}, {"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
}

// tokens13a are the tokens of a text in sacreBLEU's default tokenisation, which is that of NIST's mteval-v13a.pl, with
// the white space of Unicode between tokens. Punctuation that is not ASCII's is a part of words.
func tokens13a(s string) []string {
	s = strings.TrimRightFunc(s, isSpace)
	for _, e := range entities {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	b := apart(" " + s + " ")
	b = divide(b, noDigit, isPoint, "", " ")
	b = divide(b, isPoint, noDigit, " ", "")
	b = divide(b, isDigit, isDash, "", " ")
	return strings.FieldsFunc(string(b), isSpace)
}

// apart puts spaces around ASCII punctuation but the apostrophe, and but the full stop, the comma and the dash, which
// may be of a number.
func apart(s string) []byte {
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := range len(s) {
		if c := s[i]; isASCIIPunctuation(rune(c)) && !strings.ContainsRune("'.,-", rune(c)) {
			b = append(b, ' ', c, ' ')
		} else {
			b = append(b, c)
		}
	}
	return b
}

// divide puts a space between the bytes of every pair that is of both kinds, and more around it. A byte is of one pair
// at most, as a match of a regular expression does not overlap with the next.
func divide(s []byte, first, second func(byte) bool, before, after string) []byte {
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := 0; i < len(s); i++ {
		if i+1 == len(s) || !first(s[i]) || !second(s[i+1]) {
			b = append(b, s[i])
			continue
		}
		b = append(append(b, before...), s[i], ' ', s[i+1])
		b = append(b, after...)
		i++
	}
	return b
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func noDigit(c byte) bool { return !isDigit(c) }
func isPoint(c byte) bool { return c == '.' || c == ',' }
func isDash(c byte) bool  { return c == '-' }
