package scorers

import (
	"context"
	"errors"
	"fmt"
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

// f1 is the overlap of tokens in the normalisation of SQuAD. Of a target that is a list the best counts.
func f1(c *compiler) comparison {
	measure := c.measure()
	return func(_ context.Context, s *subject) verdict {
		return likest(s, func(got, want string) (float64, error) { return measure(textual.F1(got, want)), nil })
	}
}

// measure is the number of an overlap that is asked for.
func (c *compiler) measure() func(textual.Overlap) float64 {
	switch c.spec.Measure {
	case "precision":
		return func(o textual.Overlap) float64 { return o.Precision }
	case "recall":
		return func(o textual.Overlap) float64 { return o.Recall }
	}
	return func(o textual.Overlap) float64 { return o.F1 }
}

// rouge is the overlap of tokens, of pairs of them, or of the longest common subsequence. Of a target that is a list
// the best counts.
func rouge(c *compiler) comparison {
	measure, overlap := c.measure(), textual.RougeL
	if n := map[string]int{"rouge_1": 1, "rouge_2": 2}[c.spec.Variant]; n > 0 {
		overlap = func(got, want string) (textual.Overlap, error) { return textual.RougeN(got, want, n), nil }
	}
	return func(_ context.Context, s *subject) verdict {
		return likest(s, func(got, want string) (float64, error) {
			o, err := overlap(got, want)
			return measure(o), err
		})
	}
}

// similarity is how alike the texts are by their characters: by edits (levenshtein), or by the characters that are
// near each other in both (jaro_winkler), which is meant for names. Of a target that is a list the likest counts.
func similarity(c *compiler) comparison {
	compare := textual.Levenshtein
	if c.spec.Method == "jaro_winkler" {
		compare = func(a, b string) (float64, error) { return textual.JaroWinkler(a, b), nil }
	}
	ignoreCase := c.spec.IgnoreCase
	return func(_ context.Context, s *subject) verdict {
		return likest(s, func(got, want string) (float64, error) {
			if ignoreCase {
				got, want = folded(got), folded(want)
			}
			return compare(got, want)
		})
	}
}

// likest is worth what the answer has in common with that of the targets which it has most in common with.
func likest(s *subject, compare func(got, want string) (float64, error)) verdict {
	got, targets, err := compared(s)
	if err != nil {
		return unscored("%v", err)
	}
	best, nearest := -1.0, ""
	for _, want := range targets {
		value, err := compare(got, want)
		if err != nil {
			return unscored("%v", err)
		}
		if value > best {
			best, nearest = value, want
		}
	}
	return graded(best, nearest)
}

// graded is worth a share of 1; with less, the explanation is the target.
func graded(value float64, want string) verdict {
	v := verdict{value: value}
	if value < 1 {
		v.explanation = "compared with " + quoted(want)
	}
	return v
}

// compared are the text of the answer and those of the targets, one or more, none of which is too long.
func compared(s *subject) (string, []string, error) {
	got, targets := text(s.value), textsOf(s.target)
	if len(targets) == 0 {
		return "", nil, errors.New(noTargets.unscored)
	}
	for _, want := range targets {
		if err := searchable(want); err != nil {
			return "", nil, fmt.Errorf("target: %w", err)
		}
	}
	return got, targets, searchable(got)
}
