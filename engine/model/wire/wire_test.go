package wire

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

func FuzzTell(f *testing.F) {
	for _, text := range []string{
		`{"error": {"message": "slow down", "type": "rate_limit_error", "code": null}}`, `{"error": "text"}`, `[{"error": {"status": "RESOURCE_EXHAUSTED"}}]`,
		`{"detail": [{"msg": "field required"}]}`, `{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}`, `<html>`, "",
		`{"error": "` + strings.Repeat("long ", 1000) + `"}`,
	} {
		for _, status := range []int{302, 400, 401, 404, 413, 429, 500, 529} {
			f.Add(status, text)
		}
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		failed := classifyStatus(max(300, status), nil, []byte(text))
		if failed.Class == "" || len(failed.Message) > 1200 {
			t.Errorf("%+v", failed)
		}
	})
}

// F20, F22: events are read in the forms that servers send them in, and one that is cut off is an error.
func TestF22_Events(t *testing.T) {
	long := strings.Repeat("1", 10_000)
	for text, want := range map[string]string{
		"":                                 "",
		"event: a\ndata: 1\n\ndata: 2\n\n": "a=1 =2",
		"data:1\r\n\r\nevent:b\r\ndata:2\r\n\r\n":        "=1 b=2",
		": comment\n\nid: 7\nretry: 3\ndata: 1\n\n":      "=1",
		"data: {\ndata: }\n\n":                           "={\n}",
		"data: {}\nevent: b\ndata: {}\n":                 "={} b={}",
		"data: {\n\n":                                    "={",
		"data: 1\n\nevent: last\ndata: 2":                "=1 last=2",
		"data: 1\n\ndata: {\"a\":":                       "=1 incomplete",
		"data: 1\n\nevent: stop\ndata: 2\n\ndata: 3\n\n": "=1 stop=2",
		"data: 1\n\nevent: error\ndata: 2\n\n":           "=1 error=2 failed",
		"event: empty\n\ndata: 1\n\n":                    "=1",
		"data: [" + long + "\ndata: ]\n\ndata: 3\n\n":    "=[" + long + "\n] =3",
	} {
		var got []string
		err := Events(bufio.NewReader(strings.NewReader(text)), func(name string, data []byte) (bool, error) {
			got = append(got, name+"="+string(data))
			if name == "error" {
				return false, errors.New("failed")
			}
			return name == "stop", nil
		})
		var failed *record.Error
		switch {
		case errors.As(err, &failed):
			got = append(got, string(failed.Class))
		case err != nil:
			got = append(got, err.Error())
		}
		if said := strings.Join(got, " "); said != want {
			t.Errorf("%q: %q, want %q", text, said, want)
		}
	}
}

func ExampleShorten() {
	fmt.Println(Shorten("short texts stay"))
	// Output: short texts stay
}
