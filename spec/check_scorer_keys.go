package spec

// scorerKeys are the keys that belong to some types of scorers; the others belong to all.
var scorerKeys = map[string]string{
	"expr": "cel json_path tool_args", "pattern": "regex", "tolerance": "numeric math", "relative": "numeric",
	"options":     "one_of contains_all contains_any starts_with finish_reason",
	"ignore_case": "exact contains contains_all contains_any starts_with one_of regex similarity", "trim": "exact one_of",
	"normalize": "exact", "dialect": "is_sql", "method": "similarity", "variant": "rouge", "measure": "f1 rouge",
	"schema": "json_schema", "schema_file": "json_schema", "check": "checks",
	"value":   answerScorers + " " + targetScorers + " command http judge pairwise",
	"extract": answerScorers + " " + targetScorers + " command http judge pairwise",
	"target":  targetScorers + " json_path command http judge pairwise tools_called tools_not_called tool_order",
	"range":   "cel latency cost tokens iterations calls command http judge",
	"at_most": "latency cost tokens iterations calls",
	"tools":   "tools_called tools_not_called tool_order tool_args tool_call_count no_repeated_calls",
	"exactly": "tool_order", "every": "tool_args",
	"min": "tool_call_count steps word_count", "max": "tool_call_count steps word_count", "equals": "tool_call_count steps word_count",
	"delegates": "tools_called tools_not_called tool_order tool_args tool_call_count steps no_repeated_calls",
	"scorers":   "all_of any_of", "threshold": "all_of any_of",
	"command": "command", "url": "http", "headers": "http", "timeout": "command http judge pairwise",
	"model": "judge pairwise", "models": "judge pairwise", "votes": "judge pairwise", "reduce": "judge pairwise", "rubric": "judge pairwise",
	"reference": "judge pairwise", "temperature": "judge pairwise", "max_output_tokens": "judge pairwise",
	"criteria": "judge", "choices": "judge", "against": "pairwise",
}

const (
	// targetScorers compare an answer with the target.
	targetScorers = "exact contains contains_all contains_any starts_with numeric math one_of similarity f1 rouge bleu json_equal"
	// answerScorers judge an answer for itself.
	answerScorers = "regex word_count json_schema json_path is_json is_xml is_html is_sql refusal"
)

// scorerNeeds are the keys that a type cannot do without.
var scorerNeeds = map[string][]string{
	"cel": {"expr"}, "json_path": {"expr"}, "tool_args": {"expr"}, "regex": {"pattern"}, "command": {"command"}, "http": {"url"},
	"all_of": {"scorers"}, "any_of": {"scorers"},
}
