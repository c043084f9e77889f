// Package memory decides which part of a conversation is sent. All of it stays in
// the record.

package agent

import "github.com/agentbench/agentbench/engine/model"

// how many of them are left out, so that with the fixed tokens, those of the
// system prompt and the tools, they are estimated at most tokens; 0: all are
// sent.
//
// Earlier are the turns of the iterations before, current those of the iteration
// in progress, which begin with its prompt. A turn is left out whole: an exchange
// without its end would be none. The prompt and the newest turn always stay,
// whatever they take; of the others the newest do that fit without a gap.
func Window(earlier, current [][]model.Message, fixed, most int64) (kept []model.Message, pruned int) {
	if most <= 0 {
		return joined(earlier, current), 0
	}
	prompt := current[:min(1, len(current))]
	since := current[len(prompt):]
	open := since[max(0, len(since)-1):]
	left := room{left: most - fixed, bytes: textBytes(prompt) + textBytes(open)}

	since = since[:len(since)-len(open)]
	from := left.newest(since)
	before := len(earlier)
	if from == 0 {
		before = left.newest(earlier)
	}
	return joined(earlier[before:], prompt, since[from:], open), messages(earlier[:before]) + messages(since[:from])
}

// room is what turns may still take.
type room struct {
	left  int64 // tokens
	bytes int   // of what stays already
}

// newest is the place from which on all turns fit.
func (r *room) newest(turns [][]model.Message) (from int) {
	for from = len(turns); from > 0; from-- {
		more := textBytes(turns[from-1 : from])
		if model.EstimateTokens(r.bytes+more) > r.left {
			return from
		}
		r.bytes += more
	}
	return 0
}

func textBytes(turns [][]model.Message) (n int) {
	for _, turn := range turns {
		for i := range turn {
			n += turn[i].Bytes()
		}
	}
	return n
}

func messages(turns [][]model.Message) (n int) {
	for _, turn := range turns {
		n += len(turn)
	}
	return n
}

// flat are the messages of all turns.
func joined(parts ...[][]model.Message) []model.Message {
	n := 0
	for _, turns := range parts {
		n += messages(turns)
	}
	all := make([]model.Message, 0, n)
	for _, turns := range parts {
		for _, turn := range turns {
			all = append(all, turn...)
		}
	}
	return all
}
