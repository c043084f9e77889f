package spec

import (
	"cmp"
	"slices"
)

// Protocol is what a provider's servers speak.
type Protocol string

// The protocols.
const (
	ChatProtocol      Protocol = "chat"      // OpenAI's chat completions
	ResponsesProtocol Protocol = "responses" // OpenAI's Responses
	MessagesProtocol  Protocol = "messages"  // Anthropic's Messages
)

// Server is a provider whose models are called over HTTP.
type Server struct {
	Provider string
	Protocol Protocol // "": chat
	BaseURL  string   // "": OpenAI's own, or what the suite says
	KeyEnv   string   // the environment variable that holds the key
	Keyless  bool     // a key is optional
	Quirks
}

// Quirks are how a server differs from OpenAI's.
type Quirks struct {
	KeyHeader       string // the header that holds the key; "" is Authorization: Bearer
	NoSeed          bool   // it refuses a seed
	RandomSeed      bool   // it calls a seed random_seed
	NoStreamOptions bool   // it refuses stream_options, and reports usage without
	CompletionLimit bool   // it wants max_completion_tokens in place of max_tokens
}

// servers are the providers that a suite may name. docs/providers.md lists them.
var servers = []Server{
	{Provider: "openai", KeyEnv: "OPENAI_API_KEY"},
	{Provider: "openai_responses", Protocol: ResponsesProtocol, BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
	{Provider: "anthropic", Protocol: MessagesProtocol, BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY"},
	{Provider: "azure", KeyEnv: "AZURE_OPENAI_API_KEY", Quirks: Quirks{KeyHeader: "api-key", CompletionLimit: true}},
	{Provider: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: "DEEPSEEK_API_KEY"},
	{Provider: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyEnv: "GEMINI_API_KEY", Quirks: Quirks{NoSeed: true}},
	{Provider: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY"},
	{Provider: "lmstudio", BaseURL: "http://localhost:1234/v1", KeyEnv: "LMSTUDIO_API_KEY", Keyless: true},
	{Provider: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: "MISTRAL_API_KEY", Quirks: Quirks{RandomSeed: true, NoStreamOptions: true}},
	{Provider: "ollama", BaseURL: "http://localhost:11434/v1", KeyEnv: "OLLAMA_API_KEY", Keyless: true},
	{Provider: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY"},
	{Provider: "together", BaseURL: "https://api.together.xyz/v1", KeyEnv: "TOGETHER_API_KEY"},
	{Provider: "vllm", BaseURL: "http://localhost:8000/v1", KeyEnv: "VLLM_API_KEY", Keyless: true},
}

// Servers are the providers whose models are called over HTTP.
func Servers() []Server { return slices.Clone(servers) }

// Server is where the model's calls go, with what the model itself says of it; it
// reports false for a model that calls no server.
func (m *Model) Server() (Server, bool) {
	at := slices.IndexFunc(servers, func(s Server) bool { return s.Provider == m.Provider })
	if at < 0 {
		return Server{}, false
	}
	s := servers[at]
	s.Protocol = cmp.Or(s.Protocol, ChatProtocol)
	own := s.Provider == "openai" || s.Protocol != ChatProtocol // other servers than the vendor's speak it, too
	s.Keyless = m.APIKeyEnv == "" && (s.Keyless || own && m.BaseURL != "")
	s.BaseURL, s.KeyEnv = cmp.Or(m.BaseURL, s.BaseURL), cmp.Or(m.APIKeyEnv, s.KeyEnv)
	return s, true
}
