package spec

import (
	"math"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Model is something that answers requests.
type Model struct {
	Provider string `yaml:"provider" need:"required" doc:"Who answers: openai, anthropic, ollama and other servers, script (canned replies) or simulate." enum:"openai|openai_responses|anthropic|azure|deepseek|gemini|groq|lmstudio|mistral|ollama|openrouter|together|vllm|script|simulate" hint:"a server of another name that speaks OpenAI's API: write provider: openai, its base_url and the model's name" also:"type"`
	Name     string `yaml:"name" doc:"The provider's name of the model (default: the key)." also:"model model_name id deployment"`
	Price    *Price `yaml:"price" doc:"USD per million tokens, or free."`
	// ReserveOutput is 0 where nothing is declared.
	ReserveOutput int64         `yaml:"reserve_output" min:"1" doc:"Tokens of output that a budget reserves for a call of a program, and for one without max_output_tokens (default: tokens.output, else 4,000 and 4,096)."`
	Timeout       time.Duration `yaml:"timeout" above:"0" doc:"Of one call."`

	BaseURL   string            `yaml:"base_url" doc:"Of a server: its address (default: the provider's own; azure has none)." also:"url api_base endpoint host" of:"server"`
	APIKeyEnv string            `yaml:"api_key_env" doc:"Of a server: the environment variable that holds the key (default: the provider's, such as OPENAI_API_KEY)." also:"api_key apikey apiKey key_env token" hint:"write api_key_env: NAME, the environment variable that holds the key; never write keys into a suite" of:"server"`
	Headers   map[string]string `yaml:"headers" doc:"Of a server: sent with every request." of:"server"`

	ServiceTier string    `yaml:"service_tier" doc:"Of a server: the service tier to ask for, as its provider names it: flex, priority, auto." of:"server"`
	Effort      string    `yaml:"effort" enum:"none|minimal|low|medium|high|xhigh|max" doc:"Of a server: how much a model reasons." of:"server"`
	Thinking    *Thinking `yaml:"thinking" doc:"anthropic: extended thinking." of:"anthropic"`
	Cache       []string  `yaml:"cache" single:"allowed" enum:"system|tools|conversation|auto" doc:"anthropic: what the provider is to cache: system, tools, conversation or auto (all of them)." of:"anthropic"`
	CacheTTL    string    `yaml:"cache_ttl" enum:"5m|1h" with:"cache" doc:"anthropic: how long it is to be cached (default 5m)." of:"anthropic"`

	Stream           bool          `yaml:"stream" doc:"Of a server: let the answer come in pieces; then a server that falls silent is noticed sooner." of:"server"`
	FirstByteTimeout time.Duration `yaml:"first_byte_timeout" above:"0" doc:"Of a server: until the answer begins (default 120s, or timeout if that is longer)." of:"server"`
	IdleTimeout      time.Duration `yaml:"idle_timeout" above:"0" doc:"Of a server: between two pieces of an answer (default 60s)." of:"server"`
	Retries          *int          `yaml:"retries" min:"0" max:"100" doc:"Of a server: attempts after the first that fails for a while (default 3)." also:"max_retries" of:"server"`
	RPM              int64         `yaml:"rpm" min:"1" doc:"Of a server: requests a minute that the server allows." of:"server"`
	TPM              int64         `yaml:"tpm" min:"1" doc:"Of a server: tokens a minute that the server allows, input and max_output_tokens." of:"server"`
	MaxParallel      int           `yaml:"max_parallel" min:"1" doc:"Of a server: calls at once that the server bears (default: found out, at most 1024)." of:"server"`

	Responses     *Responses            `yaml:"responses" doc:"script: a file or a list of replies, one per call of a run: a text, or {text, thinking, tool_calls: [{id, name, arguments}], finish}." of:"script"`
	Conversations source.Named[Replies] `yaml:"conversations" without:"responses files" doc:"script: the replies of a program's conversations, by their names or patterns: main, sub*, side." of:"script"`
	Files         []string              `yaml:"files" minlen:"1" without:"responses" doc:"script: files of recorded answers, found by task id." of:"script"`
	Each          *Expr                 `yaml:"each" doc:"script: CEL giving the list of rows of a file." of:"script"`
	Key           *Expr                 `yaml:"key" doc:"script: CEL giving the task id that a row answers." of:"script"`
	Answers       *Expr                 `yaml:"answers" doc:"script: CEL giving the row's list of replies, one per call." of:"script"`
	AfterLast     string                `yaml:"after_last" enum:"error|repeat|end" doc:"script: what follows the last reply (default error)." of:"script"`

	Quality Quality     `yaml:"quality" doc:"simulate: how good a reply is, by iteration." of:"simulate"`
	Latency Latency     `yaml:"latency" doc:"simulate, script: how long a call takes." of:"simulate script"`
	Tokens  TokenCounts `yaml:"tokens" doc:"simulate, script: what a call uses." of:"simulate script"`
	Errors  float64     `yaml:"errors" min:"0" max:"1" doc:"simulate: share of calls that fail with a server error." of:"simulate"`
	Sleep   bool        `yaml:"sleep" doc:"simulate, script: really wait; false (default): time is virtual." of:"simulate script"`
	Reply   *Prompt     `yaml:"reply" doc:"simulate: the reply; {{ }} sees quality (0 to 1), draw, task, iteration. Default: a JSON object with quality." of:"simulate"`

	Node *source.Node `yaml:",here"`
}

// Responses are canned replies: a file, or a list.
type Responses struct {
	File string  `short:"text" minlen:"1" doc:"A .yaml, .json or .jsonl file that holds a list."`
	List Replies `short:"list"`

	Node *source.Node `yaml:",here"`
}

// Thinking is how much a model of Anthropic may think before it answers.
type Thinking struct {
	BudgetTokens int  `yaml:"budget_tokens" min:"1024" doc:"Most tokens of thinking in a call; less than max_output_tokens."`
	Adaptive     bool `yaml:"adaptive" doc:"The model decides how much it thinks, in place of a budget."`
	// Display is what the server shows of the thinking; "": as the model does by itself.
	Display string `yaml:"display" enum:"summarized|omitted" doc:"What the server shows of the thinking (default: depends on the model)."`

	_ struct{} `one:"budget_tokens adaptive" hint:"write thinking: {budget_tokens: 4096}, or thinking: {adaptive: true}"`
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

// Replies are canned replies in their order.
type Replies []Answer

// DecodeNode takes a list of replies; one that is no text is its JSON text.
func (r *Replies) DecodeNode(n *source.Node, d *source.Decoder) {
	var replies []any
	d.DecodeTagged(n, &replies, `minlen:"1"`)
	for i, reply := range replies {
		answer, err := answerOf(valueOf(reply))
		if err != nil {
			d.Fault(n.Items[i], answerHint, "%v", err)
		}
		*r = append(*r, answer)
	}
}

func (r *Replies) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": "array", "minItems": 1}
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

// Headers are sent with every request to a server, in the order of the file.
type Headers source.Named[Header]

// Header is what a header holds: a text, or, where Env is set, the value of that environment variable with a text
// before it.
type Header struct {
	Text string `yaml:"prefix" short:"text" doc:"Text before it, such as Bearer and a space."`
	Env  string `yaml:"env" need:"required" minlen:"1" doc:"The environment variable that holds the value."`
}

// DecodeNode takes a mapping of names to headers.
func (h *Headers) DecodeNode(n *source.Node, d *source.Decoder) {
	(*source.Named[Header])(h).DecodeNode(n, d)
	for _, header := range *h {
		if strings.ContainsAny(header.Value.Text, "\r\n\x00") {
			d.Fault(header.Node, "", "a header is one line")
		}
		if !isHeaderName(header.Key) {
			d.Add(n.KeyFault(header.Key, "write letters, digits and -", "invalid header name"))
		} else if header.Value.Env == "" && secret.Telling(header.Key) && header.Node.Kind == source.String {
			d.Fault(header.Node, "write {env: NAME}, or {env: NAME, prefix: \"Bearer \"}, and set the variable NAME",
				"%s would be written into the file; keys come from the environment", shorten(header.Key))
		}
	}
}

func (h *Headers) JSONSchema(g *source.Generator) map[string]any {
	return (*source.Named[Header])(h).JSONSchema(g)
}

// Values are the headers as they are sent; one whose variable is not set is left out.
func (h Headers) Values(getenv func(string) string) map[string]string {
	values := make(map[string]string, len(h))
	for _, header := range h {
		if value, set := header.Value.value(getenv); set {
			values[header.Key] = value
		}
	}
	return values
}

// value is the text with what the variable holds; it is not set where the variable is not.
func (h Header) value(getenv func(string) string) (value string, set bool) {
	if h.Env == "" {
		return h.Text, true
	}
	held := getenv(h.Env)
	return h.Text + held, held != ""
}

// isHeaderName reports whether HTTP allows the name.
func isHeaderName(name string) bool {
	valid := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	return name != "" && strings.IndexFunc(name, func(c rune) bool { return !valid(c) }) < 0
}
