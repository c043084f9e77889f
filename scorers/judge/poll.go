package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec/expr"
)

// maxShown is how much of an answer that cannot be read is shown to the judge again, in
// bytes.
const maxShown = 4000

// poll gets the votes on every prompt, in an order that does not depend on who
// answers first: those of the first member, then those of the next. The members
// are asked in parallel; each of them one question after the other, so that
// its calls have the same numbers every time. Cut is why no more votes were asked
// for, as where the budget is spent.
func (p *Panel) poll(ctx context.Context, draw model.Draw, prompts []Prompt) (votes [][]record.Vote, usage record.Usage, cut string) {
	each := max(1, p.Votes)
	votes = make([][]record.Vote, len(prompts))
	used, cuts := make([]record.Usage, len(p.Members)), make([]string, len(p.Members))
	for i := range prompts {
		votes[i] = make([]record.Vote, len(p.Members)*each)
	}
	var asking sync.WaitGroup
	for m := range p.Members {
		asking.Go(func() {
			a := asker{Panel: p, Member: &p.Members[m], draw: draw, calls: map[string]int{p.Members[m].Name: draw.Call}}
			own := model.Beside(ctx, m)
			for i := range prompts {
				for k := range each {
					votes[i][m*each+k] = a.vote(own, &prompts[i])
				}
			}
			used[m], cuts[m] = a.used, a.cut
		})
	}
	asking.Wait()
	for _, u := range used {
		usage = usage.Plus(u)
	}
	return votes, usage, cmp.Or(cuts...)
}

type asker struct {
	*Panel
	*Member
	draw  model.Draw
	calls map[string]int
	used  record.Usage
	cut   string // why no more calls may be made
}

// vote asks, and asks once more where the answer cannot be read.
func (a *asker) vote(ctx context.Context, p *Prompt) (vote record.Vote) {
	vote = record.Vote{Criterion: p.Criterion, Swapped: p.Swapped, Cached: true}
	if len(a.Members) > 1 {
		vote.Judge = a.Name
	}
	defer func() {
		if cause := recover(); cause != nil {
			vote.Unscored, vote.Cached = fmt.Sprintf("%s: panic: %v", record.Internal, cause), false
		}
	}()
	messages := []model.Message{{Role: "system", Text: p.System}, {Role: "user", Text: p.User, Images: p.Images}}
	reply, err := a.ask(ctx, messages, &vote)
	if err == nil {
		if err = p.Scale.read(reply.Text, &vote); err != nil {
			vote.Repaired = true
			err = a.repair(ctx, p, messages, reply, err, &vote)
		}
	}
	if err != nil {
		vote.Unscored, vote.Repaired = reason(ctx, err), false
		if ctx.Err() != nil || errors.Is(err, model.ErrRefused) {
			a.cut = cmp.Or(a.cut, vote.Unscored)
		}
	}
	return vote
}

// repair shows the judge what it answered, and what was wrong with it.
func (a *asker) repair(ctx context.Context, p *Prompt, messages []model.Message, bad *model.Reply, wrong error, vote *record.Vote) error {
	messages = append(messages,
		model.Message{Role: "assistant", Text: begin(bad.Text)},
		model.Message{Role: "user", Text: "That answer cannot be read: " + wrong.Error() + ". " +
			"Reply with the JSON object and nothing else; its score is " + p.Scale.asked() + "."})
	reply, err := a.ask(ctx, messages, vote)
	if err != nil {
		return err
	}
	if err := p.Scale.read(reply.Text, vote); err != nil {
		cut := ""
		if reply.Finish == "length" {
			cut = " (it was cut at its limit of output tokens)"
		}
		return &record.Error{Class: record.BadResponse, Message: "the judge's answer cannot be read: " + err.Error() + cut + ", and that twice"}
	}
	return nil
}

func (a *asker) ask(ctx context.Context, messages []model.Message, vote *record.Vote) (*model.Reply, error) {
	request := &model.Request{
		Messages: messages, Temperature: a.Temperature, MaxOutputTokens: a.MaxOutputTokens, JSON: true, Draw: a.draw,
	}
	request.Draw.Call = a.calls[a.Name]
	reply, call, err := trace.Ask(ctx, model.Asked{
		Model: a.Model, Name: a.Name, Role: record.RoleJudge, Hash: request.Hash(a.Name),
		Request: request, Timeout: a.Timeout, Calls: a.calls,
	})
	if call != nil {
		a.used = a.used.Plus(call.Usage)
	}
	vote.Cached = vote.Cached && call != nil && call.Cached
	if err == nil && reply.Finish == "content_filter" {
		err = &record.Error{Class: record.ContentFilter, Message: "the server's content filter stopped the judge's answer"}
	}
	return reply, err
}

// reason is why a vote is missing: the class of the error, and the error.
func reason(ctx context.Context, err error) string {
	var failed *record.Error
	switch {
	case errors.As(err, &failed):
		return failed.Error()
	case errors.Is(err, model.ErrRefused):
		return "refused: " + err.Error()
	case errors.Is(err, model.ErrEnded):
		return string(record.Exhausted) + ": the judge has nothing more to say"
	case ctx.Err() != nil:
		return "cancelled: " + err.Error()
	}
	return string(record.Internal) + ": " + err.Error()
}

// begin is the beginning of a long text. Servers refuse a message that is empty.
func begin(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "(nothing)"
	case len(text) <= maxShown:
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

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

func (s *Scale) asked() string {
	if s.Choices == nil {
		return fmt.Sprintf("a number from %s (worst) to %s (best)", Decimal(s.Worst), Decimal(s.Best))
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
	if !ok {
		return 0, "", errors.New("its score is not a number")
	}
	value, within := s.Share(number)
	if !within {
		low, high := min(s.Worst, s.Best), max(s.Worst, s.Best)
		return 0, "", fmt.Errorf("its score %s is not between %s and %s", Decimal(number), Decimal(low), Decimal(high))
	}
	return value, Decimal(number), nil
}

// Share is how far a number is from Worst to Best, from 0 to 1; beyond an end it is that of
// the end. Within reports whether the number is between the ends, as NaN is not.
func (s *Scale) Share(number float64) (share float64, within bool) {
	low, high := min(s.Worst, s.Best), max(s.Worst, s.Best)
	return min(max((number-s.Worst)/(s.Best-s.Worst), 0), 1), number >= low && number <= high
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
	if all := said(votes); len(all) == 1 {
		return nearest(votes, value).Answer
	} else if s.Choices != nil {
		return strings.Join(all, ", ")
	}
	const places = 1e4
	return Decimal(math.Round((s.Worst+value*(s.Best-s.Worst))*places) / places)
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

// Decimal is a number as people write it: 0.25, 7, 1e+21.
func Decimal(number float64) string {
	if magnitude := math.Abs(number); magnitude >= 1e-6 && magnitude < 1e21 || number == 0 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

// Reduce is what several votes make together.
type Reduce string

// What votes make together.
const (
	Mean   Reduce = "mean"
	Median Reduce = "median" // of an even number of votes the mean of the two in the middle
	// Majority is the value that most votes gave; of several such values their mean.
	Majority Reduce = "majority"
)

// Of is the value of the votes that there are. It is missing where fewer than
// half are there.
func (r Reduce) Of(votes []record.Vote) (value float64, missing string) {
	values := make([]float64, 0, len(votes))
	reason := "there are no votes"
	for i := len(votes) - 1; i >= 0; i-- {
		if votes[i].Unscored != "" {
			reason = votes[i].Unscored
		} else {
			values = append(values, votes[i].Value)
		}
	}
	if len(values) == 0 && len(votes) < 2 {
		return 0, reason
	}
	if failed := len(votes) - len(values); failed > len(values) {
		return 0, fmt.Sprintf("%d of %d votes failed: %s", failed, len(votes), reason)
	}
	slices.Sort(values)
	return r.reduce(values), ""
}

// reduce makes one value of those sorted, of which there is one at least.
func (r Reduce) reduce(values []float64) float64 {
	switch r {
	case Median:
		return mean(values[(len(values)-1)/2 : len(values)/2+1])
	case Majority:
		return mean(mostGiven(values))
	}
	return mean(values)
}

func mostGiven(sorted []float64) []float64 {
	var given []float64
	most := 0
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n] == sorted[0] {
			n++
		}
		if n > most {
			most, given = n, nil
		}
		if n == most {
			given = append(given, sorted[0])
		}
		sorted = sorted[n:]
	}
	return given
}

// mean is no less than the least of the values and no more than the greatest,
// which the sum of rounded numbers may miss.
func mean(sorted []float64) float64 {
	sum := 0.0
	for _, value := range sorted {
		sum += value
	}
	return min(max(sum/float64(len(sorted)), sorted[0]), sorted[len(sorted)-1])
}

// nearest is the vote whose value is nearest, the first of several; one that says
// nothing where there is none.
func nearest(votes []record.Vote, value float64) *record.Vote {
	const rounding = 1e-12
	best := &record.Vote{Value: math.Inf(1)}
	for i := range votes {
		if votes[i].Unscored == "" && math.Abs(votes[i].Value-value) < math.Abs(best.Value-value)-rounding {
			best = &votes[i]
		}
	}
	return best
}
