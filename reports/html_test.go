package reports_test

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"golang.org/x/net/html"
)

// htmlAllowed are the only elements of a page, and their attributes. None of
// them runs or loads anything.
var htmlAllowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"h1": "", "h2": "", "p": "class", "div": "class", "table": "", "thead": "", "tbody": "", "tr": "", "th": "class", "td": "class",
	"ul": "class", "li": "",
}

// checkHTML finds nothing in a page that a browser would execute or fetch.
func checkHTML(t interface{ Errorf(string, ...any) }, text string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Errorf("reading the HTML: %v", err)
		return
	}
	policies, style := []string{}, ""
	for node := range root.Descendants() {
		switch node.Type {
		case html.CommentNode:
			t.Errorf("a comment: %q", node.Data)
		case html.ElementNode:
			allowed, ok := htmlAllowed[node.Data]
			if !ok || node.Namespace != "" {
				t.Errorf("an element <%s>", node.Data)
			}
			for _, a := range node.Attr {
				if !slices.Contains(strings.Fields(allowed), a.Key) {
					t.Errorf("<%s> has the attribute %s=%q", node.Data, a.Key, a.Val)
				}
				if a.Key == "http-equiv" && a.Val != "Content-Security-Policy" {
					t.Errorf("http-equiv %q", a.Val)
				}
			}
			if node.Data == "style" && node.FirstChild != nil {
				style += node.FirstChild.Data
			}
			if content, ok := policyOf(node); ok {
				policies = append(policies, content)
			}
		}
	}
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if !slices.Equal(policies, []string{want}) {
		t.Errorf("the policies are %q, want %q", policies, want)
	}
}

func policyOf(node *html.Node) (content string, ok bool) {
	for _, a := range node.Attr {
		ok = ok || a.Key == "http-equiv"
		if a.Key == "content" {
			content = a.Val
		}
	}
	return content, ok
}

// F72, P18: a page holds every row and nothing that a browser executes.
func TestHTMLHoldsTheTables(t *testing.T) {
	text := pagetest.Written(t, judged(coach(24)), page.Options{Format: "html"})
	checkHTML(t, text)
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			count[node.Data]++
		}
	}
	if count["table"] < 7 || count["h2"] != count["table"] || count["tr"] < 24+5+3 || count["th"] == 0 || count["td"] < count["tr"] {
		t.Errorf("elements: %v", count)
	}
	for _, want := range []string{"interview-24", "1 of 3 thresholds cannot be judged"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}
