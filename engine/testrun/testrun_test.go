package testrun_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/testrun"
)

func TestRead(t *testing.T) {
	cases := []struct {
		name, stdout, stderr string
		passed               bool
		tests                int
		failed               []string
		share                float64
		says, silent         string // in the feedback
	}{
		{name: "plain text", stdout: "2 failed\n", stderr: "boom\n", share: 0, says: "2 failed\nboom"},
		{name: "plain text that passed", stdout: "ok\n", passed: true, share: 1},
		{
			name: "go test -json", share: 2. / 3, tests: 3, failed: []string{"p TestB"}, says: "b_test.go:7: wrong", silent: "fine",
			stdout: `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"pass","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
`,
		},
		{
			name: "subtests count in place of their parents", share: 1. / 2, tests: 2, failed: []string{"p TestA/two"},
			stdout: `{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA/two"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
		},
		{
			name: "a parent that fails by itself", share: 1. / 2, tests: 2, failed: []string{"p TestA"},
			stdout: `{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
		},
		{
			name: "a package that does not compile", share: 1. / 2, tests: 2, failed: []string{"p"}, says: "undefined: x",
			stdout: `{"ImportPath":"p","Action":"build-output","Output":"./a.go:3:2: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"q","Test":"TestQ"}
{"Action":"pass","Package":"q"}
`,
		},
		{
			name: "a test that never ended", share: 1. / 2, tests: 2, failed: []string{"p TestB"},
			stdout: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
`,
		},
		{
			name: "JUnit XML among other output", share: 1. / 3, tests: 3, failed: []string{"c two", "c three"}, says: "expected 4", silent: "collected",
			stdout: `collected 4 items
<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="s" tests="4">
<testcase classname="c" name="one"/>
<testcase classname="c" name="two"><failure message="expected 4">at line 3</failure></testcase>
<testcase classname="c" name="three"><error message="import"/></testcase>
<testcase classname="c" name="four"><skipped/></testcase>
</testsuite></testsuites>`,
		},
		{
			name: "a JUnit report cut in half", share: 1. / 2, tests: 2, failed: []string{"c two"}, says: "the report is cut",
			stdout: `<testsuite><testcase classname="c" name="one"/><testcase classname="c" name="two"><failure mess`,
		},
		{
			name: "TAP", share: 1. / 4, tests: 4, failed: []string{"2 adds", "4 (did not run)", "5 (did not run)"}, says: "got 3",
			stdout: "1..5\nok 1 - starts\nnot ok 2 - adds\n# got 3\nok 3 - later # SKIP no network\n",
		},
		{name: "TAP without a plan", share: 1. / 2, tests: 2, failed: []string{"2 b"}, stdout: "TAP version 14\nok 1 - a\nnot ok 2 - b\n    not ok 1 - inner\n"},
		{name: "text that looks like TAP", share: 0, stdout: "ok so far\n", says: "ok so far"},
		{name: "all tests pass, the runner fails", share: 1. / 2, tests: 1, stdout: "1..1\nok 1 - a\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := testrun.Read([]byte(c.stdout), []byte(c.stderr), c.passed)
			if r.Passed != c.passed || r.Tests != c.tests || !slices.Equal(r.Failed, c.failed) || r.Share() != c.share {
				t.Errorf("got %+v, share %v; want %d tests, %q failed, share %v", r, r.Share(), c.tests, c.failed, c.share)
			}
			said := r.Feedback()
			if !strings.Contains(said, c.says) || c.silent != "" && strings.Contains(said, c.silent) || c.passed && said != "" {
				t.Errorf("the feedback is %q", said)
			}
		})
	}
}

func TestFeedbackIsTheEnd(t *testing.T) {
	r := testrun.Read([]byte(strings.Repeat("äöü line\n", 10_000)+"the end\xff\n"), nil, false)
	said := r.Feedback()
	if len(said) > 5<<10 || !utf8.ValidString(said) || !strings.HasPrefix(said, "...\näöü line\n") || !strings.HasSuffix(said, "the end\uFFFD") {
		t.Errorf("%d bytes: %.40q ... %q", len(said), said, said[len(said)-20:])
	}
}
