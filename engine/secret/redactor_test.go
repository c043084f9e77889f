package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
)

const canary = "sk-CANARY/7f3a+9b2c&5d1e-4c8f"

func TestF70_KnownValuesInEveryForm(t *testing.T) {
	quoted, _ := json.Marshal(canary)
	twice, _ := json.Marshal(string(quoted))
	for name, text := range map[string]string{
		"raw":               "before " + canary + " after",
		"in a URL":          "https://user:" + canary + "@host/v1",
		"query escape":      "?key=" + url.QueryEscape(canary) + "&x=1",
		"lower escape":      "?key=" + strings.ToLower(url.QueryEscape("/+&")) + url.QueryEscape(canary)[0:0] + lowerEscapes(url.QueryEscape(canary)),
		"path escape":       "/" + url.PathEscape(canary) + "/",
		"JSON":              string(quoted),
		"JSON in JSON":      string(twice),
		"HTML":              html.EscapeString(canary),
		"base64":            base64.StdEncoding.EncodeToString([]byte(canary)),
		"base64 url":        base64.URLEncoding.EncodeToString([]byte(canary)),
		"base64 raw":        base64.RawStdEncoding.EncodeToString([]byte(canary)),
		"base64 after one":  base64.StdEncoding.EncodeToString([]byte(":" + canary)),
		"base64 after two":  base64.StdEncoding.EncodeToString([]byte("u:" + canary + "..")),
		"hex":               hex.EncodeToString([]byte(canary)),
		"upper hex":         strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"cut short":         "invalid key: " + canary[:15] + " … (800 bytes)",
		"within a word":     "x" + canary + "x",
		"twice, overlapped": canary[:20] + canary,
	} {
		got := New(canary).String(text)
		if !strings.Contains(got, Replacement) {
			t.Errorf("%s: %s stays", name, text)
		}
		for _, form := range formsOf(canary) {
			if strings.Contains(got, form) {
				t.Errorf("%s: %q is left in %s", name, form, got)
			}
		}
	}
}

// What is no secret stays: short values, placeholders, the names of variables in a script that is an argument of a program,
// names of members and numbers.
func TestF70_WhatIsKnownAndWhatStays(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("me:opensesame"))
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASC\n-----END KEY-----"
	quoted, _ := json.Marshal(pem)
	references := `curl -H "Authorization: Bearer $OPENAI_API_KEY" -H "Authorization: Bearer ${OPENAI_API_KEY}"`
	headers, placeholders := []string{"Bearer abcdefgh-ijkl", "Basic " + pair}, []string{"ollama", "1234567", "", "lm-studio", "not-needed"}
	variables := []string{"Bearer $OPENAI_API_KEY", "Bearer ${OPENAI_API_KEY}", "$OPENAI-API-KEY"}
	words := []string{"20240131", "iterations"}
	for _, c := range []struct {
		known      []string
		text, want string
	}{
		{headers, "it is abcdefgh-ijkl.", "it is [redacted]."},
		{headers, "the password opensesame!", "the password [redacted]!"},
		{headers, "Basic " + pair, "[redacted]"},
		{headers, "nothing of that kind", "nothing of that kind"},
		{placeholders, "ollama", "ollama"},
		{placeholders, "1234567", "1234567"},
		{placeholders, "lm-studio is not-needed", "lm-studio is not-needed"},
		{variables, references, references},
		{variables, "$OPENAI-API-KEY", "[redacted]"}, // which only begins like a variable
		{[]string{pem}, "so: " + pem + ".", "so: [redacted]\n[redacted]\n[redacted]\n[redacted]."},
		{[]string{pem}, string(quoted), `"[redacted]"`},
		{words, `{"iterations":20240131,"x":"20240131"}`, `{"iterations":20240131,"x":"[redacted]"}`},
		{words, `{"start_ns": 120240131.5}`, `{"start_ns": 120240131.5}`},
		{words, `{"iterations of 20240131":"iterations"}`, `{"[redacted] of [redacted]":"[redacted]"}`},
		{words, `ftp://me:20240131@host, 3 iterations more`, `ftp://me:[redacted]@host, 3 [redacted] more`},
	} {
		expect.Equal(t, c.text, New(c.known...).String(c.text), c.want)
	}
}

func TestF70_ShapesOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"sk-proj-Abc123def456Ghi789jkl":                    "[redacted]",
		"key=sk-ant-api03-AbCdEf0123456789_x-y;":           "key=[redacted];",
		`{"k":"sk-0123456789abcdef0123456789abcdef"}`:      `{"k":"[redacted]"}`,
		`"a\nsk-0123456789abcdef0123456789abcdef"`:         `"a\n[redacted]"`,
		`"a\u003csk-0123456789abcdef0123456789abcdef"`:     `"a\u003c[redacted]"`,
		"k%3Dsk-0123456789abcdef0123456789abcdef":          "k%3D[redacted]",
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789":         "[redacted]",
		"AKIAIOSFODNN7EXAMPLE":                             "[redacted]",
		"AIzaSyA1234567890abcdefghijklmnopqrstuv":          "[redacted]",
		"xoxb-123456789012-abcdefGHIJ":                     "[redacted]",
		"Authorization: Bearer abcDEF123456.ghi-jkl":       "Authorization: Bearer [redacted]",
		"authorization: basic dXNlcjpwYXNzd29yZDEyMw==":    "authorization: basic [redacted]",
		"sk-learn-classification-task-1":                   "sk-learn-classification-task-1",
		"the disk-usage-of-large-folders-2024":             "the disk-usage-of-large-folders-2024",
		"risk-0123456789abcdef0123456789":                  "risk-0123456789abcdef0123456789",
		"Bearer of bad news":                               "Bearer of bad news",
		"Basic understanding-of-everything":                "Basic understanding-of-everything",
		`"request":"0123456789abcdef"`:                     `"request":"0123456789abcdef"`,
		"sk-1234":                                          "sk-1234",
		"see https://example.com/a/very/long/path/sk-x":    "see https://example.com/a/very/long/path/sk-x",
		"dGhpcyBpcyBzb21lIGJhc2U2NCBBS0lBIHRleHQgKDEyMyk=": "dGhpcyBpcyBzb21lIGJhc2U2NCBBS0lBIHRleHQgKDEyMyk=",
	} {
		expect.Equal(t, text, (*Redactor)(nil).String(text), want)
		if got := New(canary).String("; " + text + " ;"); got != "; "+want+" ;" {
			t.Errorf("%s, within a text: got %s", text, got)
		}
	}
}

func TestATextWithoutSecretsIsReturnedAsItIs(t *testing.T) {
	text := []byte(sample)
	if got := New(canary).Redact(text); &got[0] != &text[0] || len(got) != len(text) {
		t.Error("it was copied")
	}
}

// value draws secrets that are awkward: few different characters, escapes, digits.
func value() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.StringOfN(rapid.SampledFrom([]rune(`ab\"n0u<é&/+ `)), 8, 30, -1).Draw(t, "value")
	})
}

// text draws texts that hold secrets and parts of them.
func text(secrets []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			s := rapid.SampledFrom(append(secrets, "sk-Abc123def456Ghi789jkl", "Bearer abc0DEF1ghi2JKL3mno", `\`, `"`, "\n", "é", "iterations", "12345678")).Draw(t, "part")
			b.WriteString(s[:rapid.IntRange(0, len(s)).Draw(t, "length")])
			b.WriteString(rapid.SampledFrom([]string{"", "", " ", "x", `","k":`}).Draw(t, "between"))
		}
		return b.String()
	})
}

func TestF70_JSONStaysValidAndHoldsNoSecret(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(value(), 1, 3).Draw(t, "secrets")
		r := New(secrets...)
		object := map[string]any{
			text(secrets).Draw(t, "key"): text(secrets).Draw(t, "a"), "number": rapid.Int64().Draw(t, "n"),
			"list": []any{text(secrets).Draw(t, "b"), rapid.Float64().Draw(t, "f"), true},
		}
		for _, escape := range []bool{true, false} {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(escape)
			expect.NoError(t, e.Encode(object))
			got := r.Redact(b.Bytes())
			var back map[string]any
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatalf("%s became %s: %v", b.Bytes(), got, err)
			}
			for _, known := range r.known {
				if eachString(back, func(s string) bool { return strings.Contains(s, known) && !wordOf(known) }) {
					t.Fatalf("%q is left in %s, of %s", known, got, b.Bytes())
				}
			}
		}
	})
}

// wordOf says whether a secret may stay as the name of a member.
func wordOf(known string) bool { return all([]byte(known), inName) || all([]byte(known), inNumber) }

func eachString(v any, is func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(v)
	case []any:
		for _, e := range v {
			if eachString(e, is) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if is(k) || eachString(e, is) {
				return true
			}
		}
	}
	return false
}

// However a text is cut into writes, the same comes out.
func TestF70_SecretsThatAreSplitOverWrites(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(value(), 0, 3).Draw(t, "secrets")
		r := New(secrets...)
		whole := text(append(secrets, canary)).Draw(t, "text")
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		expect.NoError(t, w.Flush())
		if want := r.String(whole); out.String() != want {
			t.Fatalf("got  %q\nwant %q", out.String(), want)
		}
	})
}

// What cannot become a secret is not kept back, so that a line in progress is seen.
func TestOrdinaryTextIsWrittenAtOnce(t *testing.T) {
	for _, text := range []string{"\r\x1b[K12 of 40 runs · 8 in flight · 15 calls · 5s left", "continue? ", "listening\n"} {
		var out bytes.Buffer
		w := New(canary).Writer(&out)
		if _, err := w.Write([]byte(text)); err != nil || out.String() != text {
			t.Errorf("of %q came %q, %v", text, out.String(), err)
		}
	}
}

// What is kept back is bounded.
func TestAnEndlessKeyIsWritten(t *testing.T) {
	var out bytes.Buffer
	w := New(canary).Writer(&out)
	for range 100 {
		fmt.Fprint(w, "sk-"+strings.Repeat("a1B", 100))
	}
	if len(w.text) > mostKept+1000 {
		t.Errorf("%d bytes are kept", len(w.text))
	}
}

// One long word takes time in proportion to its length.
func TestALongWordIsRedactedInTime(t *testing.T) {
	for _, word := range []string{"sk-", "aB3", "AIza-sk-", "sk-a0-/", "Bearer_", "AIza-", "AKIA"} {
		text, began := strings.Repeat(word, 10<<20/len(word)), time.Now()
		New(canary).String(text)
		if took := time.Since(began); took > 5*time.Second { // if each place looked at all that follows, it would take hours
			t.Errorf("10 MB of %s took %v", word, took)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(canary, `{"a":"b\\`)
	f.Add("aaaaaaaab", "aaaaaaaaaaaaaaaab")
	f.Fuzz(func(t *testing.T, value, text string) {
		r := New(value)
		if got := r.String(text + value + text); len(r.known) > 0 && !strings.ContainsAny(r.known[0], "\"\n\r") && strings.Contains(got, r.known[0]) && !wordOf(r.known[0]) && !strings.Contains(Replacement+Replacement, r.known[0]) {
			t.Errorf("%q is left in %q", r.known[0], got)
		}
	})
}

const sample = `{"crc":"1b2d6c3f","v":1,"run":"default/backend-1/1","configuration":"default","task":"backend-1","trial":1,"loop":"9f86d081884c7d65","outcome":{"status":"completed","reason":"confidence","class":"condition","fired":"confidence","success":true,"returned":2},"iterations":[{"n":1,"phase":"execution","request":"0a1b2c3d4e5f6071","output":"The answer is 42, because the question asks for the number of apples that are left after Mary has given some of hers to John.","evaluation":{"confidence":0.62,"passed":false,"feedback":"say how many","checks":[{"name":"number","passed":true},{"name":"unit","passed":false,"feedback":"name the unit"}]},"calls":[{"role":"agent","model":"mini","request":"0a1b2c3d4e5f6071","usage":{"calls":1,"input_tokens":312,"output_tokens":88,"cost_pusd":99600000},"start_ns":0,"duration_ns":1840000000,"finish":"stop"}],"start_ns":0,"end_ns":1840000000,"working_ns":1840000000}],"usage":{"calls":1,"input_tokens":312,"output_tokens":88}}`

func TestF70_PrefixesEndBetweenWords(t *testing.T) {
	long := strings.Repeat("a", 600)
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"the key sk-0123456789 is wrong", 15, "the key "},
		{"the key sk-0123456789 is wrong", 21, "the key sk-0123456789"},
		{"the key sk-0123456789 is wrong", 22, "the key sk-0123456789 "},
		{"the key sk-0123456789", 21, "the key sk-0123456789"},
		{`{"key":"sk%2D0123"}`, 12, `{"key":"`},
		{"é€€", 3, "é"},
		{"x " + long, 500, "x "},
		{"onewordonly", 5, ""},
		{"oneword only", 7, "oneword"},
		{long, 500, ""},
		{"é€€", 0, ""},
	} {
		if got := Prefix(c.text, c.most); got != c.want {
			t.Errorf("%d of %s: got %q, want %q", c.most, c.text, got, c.want)
		}
	}
}

func TestF70_SecretsInLinesThatCouldNotBeRead(t *testing.T) {
	for text, want := range map[string][]string{
		`base_url: "http://me:hidden-word@host/v1"`:                                                {"hidden-word"},
		`base_url: http://hidden-word@host/v1`:                                                     {"hidden-word"},
		`  3 | …hidden-word@host/v1`:                                                               {"hidden-word"},
		`base_url: http://host/v1?api_key=hidden-word`:                                             {"hidden-word"},
		`headers: {X-Api-Key: hidden-word, X-Title: mine}`:                                         {"hidden-word"},
		`headers: {"Authorization": "Bearer hidden-word"}`:                                         {"Bearer hidden-word"},
		`  cookie: [hidden-word`:                                                                   {"hidden-word"},
		`  api_key: hidden-word # really`:                                                          {"hidden-word # really"},
		`{client_secret: hidden-word, unknwon: 3}`:                                                 {"hidden-word"},
		`  accessToken: "hidden-word"`:                                                             {"hidden-word"},
		`secret: {env: SOME_VARIABLE}, token: {prefix: shown-word}`:                                nil,
		`m: {key: task.identifier, api_key_env: SOME_VARIABLE_ID}`:                                 nil,
		`tokens: {input: 10000000}`:                                                                nil,
		`url: "http://host/v1?sv=1&sig=hidden%2Bword"`:                                             {"hidden%2Bword", "hidden+word"},
		`url: http://host/v1?X-Amz-Signature=hidden-word&x=shown`:                                  {"hidden-word"},
		`command: [ask, --api-key, hidden-word, --max-tokens, 10]`:                                 {"hidden-word"},
		`command: ["ask", "--token=hidden-word", "shown-word"]`:                                    {"hidden-word"},
		"- --api-key\n- hidden-word":                                                               {"hidden-word"},
		`command: [sh, -c, "ask --password hidden-word shown"]`:                                    {"hidden-word"},
		`command: [ask, --key-file, shown-word, --tokenizer, gpt]`:                                 nil,
		`command: [ask, --connection-string, "Server=x;Password=hidden-word;Database=shown-word"]`: {"hidden-word", "hidden-word;Database=shown-word"},
		`command: [ask, "Server=x;Password=hidden, word;Database=shown-word"]`:                     {"hidden,", "hidden", "hidden, word"},
		`command: [curl, -ume:hidden-word]`:                                                        {"hidden-word"},
		"- -u\n- me:hidden-word":                                                                   {"hidden-word"},
		`command: [ask, PGPASSWORD=hidden-word, PGUSER=shown-word]`:                                {"hidden-word"},
		`url: https://host/cb#access_token=hidden-word&state=shown-word`:                           {"hidden-word"},
		`  env: PGHOST=hidden-word`:                                                                {"hidden-word"},
		`  env: [PGUSER, hidden-word]`:                                                             {"hidden-word"},
		"  env:\n  - hidden-word":                                                                  {"hidden-word"},
		`headers: {X-Team: {env: "hidden word", prefix: shown-word}}`:                              {"hidden word"},
		`headers: {X-Team: {env: [hidden-word]}, X-Title: shown-word}`:                             {"hidden-word"},
		`headers: {X-Team: {env: {a: hidden-word}}}`:                                               {"hidden-word"},
		`api_key_env: hidden2word`:                                                                 {"hidden2word"},
		`headers: {X-Team: {env: TEAM_2, prefix: "shown-word "}}`:                                  nil,
		`  env: [PGUSER, TEAM_2, http_proxy, ProgramFiles]`:                                        nil,
		`prompt: "ask me@home.example: {{ task.input }}"`:                                          nil,
	} {
		expect.Equal(t, text, OfText(text), want)
	}
}

// A text that is shortened ends between words.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", "12 45": "12 45", "12 456": "12  … (6 bytes)", "word": "word", "a wordy": "a  … (7 bytes)"} {
		expect.Equal(t, text, Shorten(text, 5), want)
	}
}
