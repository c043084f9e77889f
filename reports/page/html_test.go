package page

import (
	"bufio"
	"html/template"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// Texts are escaped as html/template escapes them within elements and within
// attributes in quotes, and no text is markup or a place for the next.
func TestHTMLIsEscapedAsTemplatesDo(t *testing.T) {
	want := template.Must(template.New("").Parse(`<p title="{{index . 0}}">{{index . 1}}</p><td>{{index . 0}}</td>`))
	check := func(t interface{ Errorf(string, ...any) }, one, other string) {
		var got, wanted strings.Builder
		w := htmlWriter{Writer: bufio.NewWriter(&got)}
		w.put(`<p title="%s">%s</p><td>%s</td>`, one, other, one)
		if err := w.Flush(); err != nil {
			t.Errorf("%v", err)
		}
		if err := want.Execute(&wanted, []string{one, other}); err != nil {
			t.Errorf("%v", err)
		}
		if got.String() != wanted.String() {
			t.Errorf("%q and %q become\n%s\nwant\n%s", one, other, got.String(), wanted.String())
		}
	}
	hostile := []string{"", `"`, "'", "<", ">", "&", "&lt;script&gt;", "&#34;", "%s", "%", "+ADw-", "\x00", "\xff<", "</p><script>alert(1)</script>",
		`" onload="alert(1)`, "' onload='x", "<!--", "]]>", "`", "=", "\u2028", "{{.}}", "</style>", "日本"}
	for _, one := range hostile {
		for _, other := range hostile {
			check(t, one, other)
		}
	}
	propertytest.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\"'<>&;+%s\\x00`=a-z#0-9]{0,20}"))
		check(rt, text.Draw(rt, "one"), text.Draw(rt, "other"))
	})
}
