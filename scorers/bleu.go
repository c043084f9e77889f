package scorers

import (
	"context"
	"strings"

	"github.com/agentbench/agentbench/scorers/textual"
)

// bleu is sacreBLEU's sentence_bleu, of 1 instead of 100. A target that is a list are several references of one
// answer, which are read together.
func bleu(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		got, targets, err := compared(s)
		if err != nil {
			return unscored("%v", err)
		}
		return graded(min(textual.BLEU(got, targets...), 1), strings.Join(targets, " | "))
	}
}
