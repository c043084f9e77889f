package expr

import "testing"

func TestVerdictsAreComparedWithVerdictsOnly(t *testing.T) {
	for src, want := range map[string]string{
		`diff.scores["a"].verdict != "worse"`:                      "",
		`"same" == diff.cost_usd.verdict`:                          "",
		`diff.tokens.verdict in ["better", "cannot_tell"]`:         "",
		`diff.scores.all(s, diff.scores[s].verdict != "worse")`:    "",
		`diff.configuration == "wrose"`:                            "",
		`diff.scores["a"].verdict != "wrose"`:                      `verdict is never "wrose"`,
		`"equal" == diff.cost_usd.verdict`:                         `verdict is never "equal"`,
		`diff.tokens.verdict in ["better", "cannot tell"]`:         `verdict is never "cannot tell"`,
		`diff.scores.exists(s, diff.scores[s].verdict == "shown")`: `verdict is never "shown"`,
	} {
		program, faults := Threshold().Compile(src, WantBool)
		if (program == nil) != (want != "") || want != "" && faults[0].What != want {
			t.Errorf("%s: %+v, want %q", src, faults, want)
		}
	}
}
