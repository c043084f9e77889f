package scorers

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
)

// verdict is what a comparison finds. The zero verdict is worth 0.
type verdict struct {
	value       float64
	answer      string // "": the value that was judged
	explanation string // why it is not worth 1
	unscored    string // why it could not be judged; value, answer and explanation are then meaningless
	nothing     bool   // there was no answer to judge

	votes []record.Vote // of those that were asked
	usage record.Usage  // what asking took, as if nothing were cached
}

const noAnswer = "none"

// nothing is the verdict on no answer. An answer may be the word "none" itself.
var nothing = verdict{answer: noAnswer, nothing: true}

// unscored is the verdict of a scorer that cannot judge.
func unscored(format string, args ...any) verdict {
	return verdict{unscored: fmt.Sprintf(format, args...)}
}

// hit is worth 1, or 0 because of what differs.
func hit(yes bool, want, got string) verdict {
	if yes {
		return verdict{value: 1}
	}
	return verdict{explanation: differs(want, got)}
}

func differs(want, got string) string {
	return "want " + quoted(want) + ", got " + quoted(got)
}

// turned is the verdict under not. No answer stays worth nothing.
func (v verdict) turned() verdict {
	if v.unscored != "" || v.nothing {
		return v
	}
	v.value = 1 - v.value
	if v.votes != nil {
		return v // why it was judged so holds as well
	}
	v.explanation = ""
	if v.value == 0 {
		v.explanation = "it holds, and not is set"
	}
	return v
}

// write puts the verdict into a score. NaN, the infinities and what is not between 0 and 1 never get there.
func (v verdict) write(score *record.Score) {
	score.Votes, score.Usage = v.votes, v.usage
	switch {
	case v.unscored != "":
		score.Unscored = short(v.unscored, maxAnswer)
	case v.value >= 0 && v.value <= 1:
		score.Value, score.Answer, score.Explanation = v.value, v.answer, v.explanation
	default:
		score.Unscored = fmt.Sprintf("scorer %s gave %v, which is not between 0 and 1", score.Name, v.value)
	}
}
