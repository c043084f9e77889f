package judge

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// Scale is what a judge may answer: one of the choices, or where there are none
// a number between Worst, which is worth 0, and Best, which is worth 1.
type Scale struct {
	Worst, Best float64
	Choices     []Choice
}

// Choice is a word to answer with, and what it is worth.
type Choice struct {
	Word  string
	Worth float64
}

// asked is what the judge is told of the score.
func (s *Scale) asked() string {
	if s.Choices == nil {
		return fmt.Sprintf("a number from %s (worst) to %s (best)", decimal(s.Worst), decimal(s.Best))
	}
	words := make([]string, len(s.Choices))
	for i := range s.Choices {
		words[i] = strconv.Quote(s.Choices[i].Word)
	}
	return "one of " + strings.Join(words, ", ")
}

// read takes a vote out of an answer: one JSON object with score and
// explanation. A score is never looked for in prose, nor in a fence within prose:
// that may be what the output says of itself, which the judge quotes.
func (s *Scale) read(text string, vote *record.Vote) error {
	if text = model.Verdict(text); text == "" {
		return errors.New("it is empty")
	}
	value, err := expr.ParseUniqueJSON([]byte(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	object, ok := value.(*expr.Object)
	if !ok {
		return errors.New("it is not a JSON object")
	}
	score, ok := object.Get("score")
	if !ok || score == nil {
		return errors.New("it has no score")
	}
	vote.Value, vote.Answer, err = s.worth(score)
	if explanation, ok := object.Get("explanation"); ok && err == nil {
		vote.Explanation, _ = explanation.(string)
	}
	return err
}

// worth is what an answer is worth, and the answer as it is kept.
func (s *Scale) worth(score any) (value float64, answer string, err error) {
	if s.Choices != nil {
		return s.chosen(score)
	}
	number, ok := score.(float64)
	if low, high := min(s.Worst, s.Best), max(s.Worst, s.Best); !ok {
		return 0, "", errors.New("its score is not a number")
	} else if !(number >= low && number <= high) {
		return 0, "", fmt.Errorf("its score %s is not between %s and %s", decimal(number), decimal(low), decimal(high))
	}
	return min(max((number-s.Worst)/(s.Best-s.Worst), 0), 1), decimal(number), nil
}

// chosen is one of the words. A word may look like a number or a truth value.
func (s *Scale) chosen(score any) (value float64, answer string, err error) {
	word, ok := score.(string)
	if !ok {
		written, err := expr.AppendJSON(nil, score)
		if err != nil {
			return 0, "", err
		}
		word = string(written)
	}
	var words []string
	for _, choice := range s.Choices {
		if choice.Word == strings.TrimSpace(word) {
			return choice.Worth, choice.Word, nil
		}
		words = append(words, choice.Word)
	}
	return 0, "", fmt.Errorf("its score is none of %s", strings.Join(words, ", "))
}

// Answer is what votes that are worth so much together have answered: what they
// all said, a number between theirs, or how many gave each word.
func (s *Scale) Answer(value float64, votes []record.Vote) string {
	nearest := Nearest(votes, value)
	if all := said(votes); len(all) == 1 {
		return nearest.Answer
	} else if s.Choices != nil {
		return strings.Join(all, ", ")
	}
	const places = 1e4
	return decimal(math.Round((s.Worst+value*(s.Best-s.Worst))*places) / places)
}

// said are the different answers, and how many votes gave each.
func said(votes []record.Vote) []string {
	var answers []string
	count := map[string]int{}
	for i := range votes {
		if votes[i].Unscored != "" {
			continue
		}
		answer := votes[i].Answer
		if count[answer]++; count[answer] == 1 {
			answers = append(answers, answer)
		}
	}
	for i, answer := range answers {
		answers[i] = fmt.Sprintf("%d %s", count[answer], answer)
	}
	return answers
}

// decimal is a number as people write it.
func decimal(number float64) string {
	if magnitude := math.Abs(number); magnitude >= 1e-6 && magnitude < 1e21 || number == 0 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}
