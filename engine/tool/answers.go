package tool

import (
	"context"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"strings"
	"sync/atomic"
	"unicode"
)

// known are the answers of a task: its vars' or else its metadata's `answers`, a
// list in the order of the questions, or a mapping of questions to answers.
type known struct {
	list    []any
	mapping *expr.Object
}

func answers(task *spec.Task) known {
	if task == nil {
		return known{}
	}
	for _, place := range []any{task.Vars, task.Metadata} {
		object, _ := place.(*expr.Object)
		if found, ok := object.Get("answers"); ok {
			list, _ := found.([]any)
			mapping, _ := found.(*expr.Object)
			return known{list, mapping}
		}
	}
	return known{}
}

// everything is the key of an answer to all questions that no other fits.
const everything = "*"

// to is the answer to the n-th question of a run, from 0. Of a mapping it is that
// of the question itself, else of the longest key whose words stand in it one
// after the other, whatever their case and what is between them.
func (k known) to(question string, n int) (answer any, ok bool) {
	if n < len(k.list) {
		return k.list[n], true
	}
	asked, best := words(question), -1
	for i := range k.mapping.Len() {
		key, value := k.mapping.At(i)
		if key == question {
			return value, true
		}
		meant := words(key)
		if len(meant) > best && (key == everything || meant != "" && strings.Contains(asked, meant)) {
			answer, ok, best = value, true, len(meant)
		}
	}
	return answer, ok
}

// words are the letters and digits of a text, in words with a blank around each.
func words(text string) string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(all) == 0 {
		return ""
	}
	return " " + strings.Join(all, " ") + " "
}

type countKey struct{}

// asked is how many questions the run in the context asked before this one.
func asked(ctx context.Context) int {
	run := RunOf(ctx)
	if run == nil {
		return 0
	}
	counter, err := run.Keep(countKey{}, func() (any, func(), error) { return new(atomic.Int64), nil, nil })
	if err != nil {
		return 0
	}
	return int(counter.(*atomic.Int64).Add(1)) - 1
}
