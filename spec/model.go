package spec

import (
	"math"
	"time"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Model is something that answers requests.
type Model struct {
	Provider string        `yaml:"provider" need:"required" enum:"openai|script|simulate"`
	Name     string        `yaml:"name" doc:"The provider's name of the model (default: the key)."`
	Price    *Price        `yaml:"price" doc:"USD per million tokens, or free."`
	Timeout  time.Duration `yaml:"timeout" above:"0" doc:"Of one call."`

	BaseURL   string            `yaml:"base_url" doc:"openai: any compatible server."`
	APIKeyEnv string            `yaml:"api_key_env" doc:"openai: the environment variable that holds the key (default OPENAI_API_KEY)."`
	Headers   map[string]string `yaml:"headers" doc:"openai: sent with every request."`

	Stream           bool          `yaml:"stream" doc:"openai: let the answer come in pieces; then a server that falls silent is noticed sooner."`
	FirstByteTimeout time.Duration `yaml:"first_byte_timeout" above:"0" doc:"openai: until the answer begins (default 120s, or timeout if that is longer)."`
	IdleTimeout      time.Duration `yaml:"idle_timeout" above:"0" doc:"openai: between two pieces of an answer (default 60s)."`
	Retries          *int          `yaml:"retries" min:"0" max:"100" doc:"openai: attempts after the first that fails for a while (default 3)."`
	RPM              int64         `yaml:"rpm" min:"1" doc:"openai: requests a minute that the server allows."`
	TPM              int64         `yaml:"tpm" min:"1" doc:"openai: tokens a minute that the server allows, input and max_output_tokens."`
	MaxParallel      int           `yaml:"max_parallel" min:"1" doc:"openai: calls at once that the server bears (default: found out, at most 1024)."`

	Responses *Responses `yaml:"responses" doc:"script: a file or a list of replies, one per call of a run: a text, or {text, thinking, tool_calls: [{id, name, arguments}], finish}."`
	Files     []string   `yaml:"files" minlen:"1" doc:"script: files of recorded answers, found by task id."`
	Each      *Expr      `yaml:"each" doc:"script: CEL giving the list of rows of a file."`
	Key       *Expr      `yaml:"key" doc:"script: CEL giving the task id that a row answers."`
	Answers   *Expr      `yaml:"answers" doc:"script: CEL giving the row's list of replies, one per call."`
	AfterLast string     `yaml:"after_last" enum:"error|repeat|end" doc:"script: what follows the last reply (default error)."`

	Quality Quality     `yaml:"quality" doc:"simulate: how good a reply is, by iteration."`
	Latency Latency     `yaml:"latency" doc:"simulate, script: how long a call takes."`
	Tokens  TokenCounts `yaml:"tokens" doc:"simulate, script: what a call uses."`
	Errors  float64     `yaml:"errors" min:"0" max:"1" doc:"simulate: share of calls that fail with a server error."`
	Sleep   bool        `yaml:"sleep" doc:"simulate, script: really wait; false (default): time passes as-if."`
	Reply   *Prompt     `yaml:"reply" doc:"simulate: the reply; {{ }} sees quality (0 to 1), draw, task, iteration. Default: a JSON object with quality."`

	Node *source.Node `yaml:",here"`
}

// Responses are canned replies: a file, or a list.
type Responses struct {
	File string
	List []Answer

	Node *source.Node
}

// Price is USD per million tokens, or the word free.
type Price struct {
	Free        bool     `yaml:"-"`
	Input       float64  `yaml:"input" need:"required" min:"0" max:"100000"`
	CachedInput *float64 `yaml:"cached_input" min:"0" max:"100000"`
	Output      float64  `yaml:"output" need:"required" min:"0" max:"100000"`
}

// DecodeNode takes the word free, or a mapping. Prices of 0 may be a table's gap: what is free has to be called so.
func (p *Price) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping Price
	switch {
	case n.Kind == source.Map:
		d.Decode(n, (*mapping)(p))
		if isZero(n.Get("input")) && isZero(n.Get("output")) {
			d.Fault(n, "write free if calls cost nothing, or the price", "both prices are 0")
		}
	case n.Kind == source.String && n.Text == "free":
		p.Free = true
	default:
		d.Fault(n, "write {input: 0.15, output: 0.60} in USD per million tokens, or free", "want a price")
	}
}

func isZero(n *source.Node) bool {
	if n == nil {
		return false
	}
	value := n.Plain()
	return value == int64(0) || value == 0.0
}

// JSONSchema describes both forms.
func (p *Price) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"const": "free"}, g.Struct(*p)}}
}

// Quality starts at start, moves toward limit by rate of the distance with each
// call of a run, and varies by task (spread) and by call (noise): standard
// deviations, the result kept within 0 and 1.
type Quality struct {
	Start  float64 `yaml:"start" min:"0" max:"1"`
	Limit  float64 `yaml:"limit" min:"0" max:"1"`
	Rate   float64 `yaml:"rate" min:"0" max:"1"`
	Spread float64 `yaml:"spread" min:"0" max:"1"`
	Noise  float64 `yaml:"noise" min:"0" max:"1"`
}

// Latency is lognormal with a median and a shape; a sigma of 0 is constant.
type Latency struct {
	Median time.Duration `yaml:"median" min:"0"`
	Sigma  float64       `yaml:"sigma" min:"0" max:"3"`
}

// TokenCounts are the means of what a call uses; an absent input counts a
// quarter of the request's characters. Spread is a share of the mean.
type TokenCounts struct {
	Input  int     `yaml:"input" min:"0"`
	Output int     `yaml:"output" min:"0"`
	Spread float64 `yaml:"spread" min:"0" max:"1"`
}

// Most is the most that is drawn around a mean: four standard deviations above,
// at most 1e9.
func (t TokenCounts) Most(mean int) int {
	return int(min(math.Ceil(float64(mean)*(1+4*t.Spread)), 1e9))
}

// DecodeNode takes a path or a list of replies; a reply that is no text is its JSON text.
func (r *Responses) DecodeNode(n *source.Node, d *source.Decoder) {
	r.Node = n
	if n.Kind != source.List {
		d.DecodeTagged(n, &r.File, `minlen:"1"`)
		return
	}
	var replies []any
	d.DecodeTagged(n, &replies, `minlen:"1"`)
	for i, reply := range replies {
		answer, err := answerOf(valueOf(reply))
		if err != nil {
			d.Fault(n.Items[i], answerHint, "%v", err)
		}
		r.List = append(r.List, answer)
	}
}

// JSONSchema describes both forms.
func (r *Responses) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "minLength": 1, "description": "A .yaml, .json or .jsonl file that holds a list."},
		map[string]any{"type": "array", "minItems": 1},
	}}
}

// replyText is a reply as a model would send it: text as it is, anything else as JSON.
func replyText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := expr.AppendJSON(nil, value)
	if err != nil {
		return "" // values of files hold nothing that JSON cannot write
	}
	return string(text)
}
