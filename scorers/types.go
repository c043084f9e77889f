package scorers

import "context"

// comparison judges the answer of a subject. It is made once and used by many runs at the same time.
type comparison func(ctx context.Context, s *subject) verdict

// kind is a type of scorer.
type kind struct {
	// target: it compares with a target, and cannot judge without one.
	target bool
	// answer: it judges the answer. What is false here looks for itself.
	answer bool
	// course: it judges what was done up to an iteration, and not its output.
	course bool
	// pairs: it judges a run beside another one, for which both have to be there.
	pairs bool
	make  func(c *compiler) comparison
}

// kinds are the scorers by their type in a suite. A new one is one file and one line.
func kinds() map[string]kind {
	return map[string]kind{
		"exact":       {target: true, answer: true, make: exact},
		"contains":    {target: true, answer: true, make: contains},
		"regex":       {answer: true, make: regex},
		"numeric":     {target: true, answer: true, make: numeric},
		"one_of":      {target: true, answer: true, make: oneOf},
		"json_equal":  {target: true, answer: true, make: jsonEqual},
		"json_schema": {answer: true, make: jsonSchema},
		"cel":         {make: cel},
		"checks":      {answer: true, make: checks},

		// similarity of texts
		"similarity": {target: true, answer: true, make: similarity},
		"f1":         {target: true, answer: true, make: f1},
		"rouge":      {target: true, answer: true, make: rouge},
		"bleu":       {target: true, answer: true, make: bleu},
		"math":       {target: true, answer: true, make: mathematics},

		// forms of answers
		"contains_all": {target: true, answer: true, make: containsAll},
		"contains_any": {target: true, answer: true, make: containsAny},
		"starts_with":  {target: true, answer: true, make: startsWith},
		"word_count":   {answer: true, make: wordCount},
		"is_json":      {answer: true, make: isJSON},
		"json_path":    {answer: true, make: jsonPath},
		"is_xml":       {answer: true, make: isXML},
		"is_html":      {answer: true, make: isHTML},
		"is_sql":       {answer: true, make: isSQL},
		"refusal":      {answer: true, make: refusal},

		// what was measured
		"finish_reason": {make: finishReason},
		"latency":       {course: true, make: latency},
		"cost":          {course: true, make: cost},
		"tokens":        {course: true, make: tokens},
		"iterations":    {course: true, make: iterations},
		"calls":         {course: true, make: modelCalls},

		// sets
		"all_of": {make: allOf},
		"any_of": {make: anyOf},

		// what others are asked
		"judge":    {answer: true, make: judges},
		"command":  {answer: true, make: command},
		"pairwise": {answer: true, pairs: true, make: pairwise},
		"http":     {answer: true, make: endpoint},

		"tools_called":      {target: true, course: true, make: toolsCalled},
		"tools_not_called":  {target: true, course: true, make: toolsNotCalled},
		"tool_order":        {target: true, course: true, make: toolOrder},
		"tool_args":         {course: true, make: toolArgs},
		"tool_call_count":   {course: true, make: toolCallCount},
		"steps":             {course: true, make: steps},
		"no_repeated_calls": {course: true, make: noRepeatedCalls},
	}
}
