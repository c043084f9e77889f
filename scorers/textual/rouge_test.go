package textual

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
)

// Google's rouge_score: testdata/target.txt and prediction.txt (lines 1 and 2), whose values in rouge_scorer_test.py
// are "taken from manual runs of ROUGE-1.5.5" (github.com/google-research/google-research, rouge/, Apache 2.0).
var rouge155 = []struct{ target, prediction string }{
	{
		`ZfbCUIUuePaiLVUlCaUXxkpu XPeWing tUHfPMuZ',-Xd Y BrUgVJing M-HV.-DgdDaY.rFDJCRing Ht-LM EKBDXkME,yz'RBr q'wtion wIojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxer tKM L`,
		`rFDJCRtion Ht-LM EKtDXkME,yz'RBr q'wer wrojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxi`,
	}, {
		`KsJdPByEtAor fE-Qg Dpdbring cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMtion psing sbKao Q m qiing LMmer HqqLFXe,XPY,J XsurkMer ,ed nB'wH'bWVHjWFEing tQ.saefZwJtKrTlixYpMMsJing UCAPwNHeYVjDing c T BUySKtion gMPfJpwGw p'NvxAoping eu pBwMBKV'I DNxqelhu,PHPxDEq,mtion SN`,
		`n cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMer pstion sbKao Q m qier LMmed HqqLFXe,XPY,J XsurkMeo ,ed nB'wH'bWVHjWFEer tQ.saefZwJtKrTlixYpMMNJtion UCAPwNHeYVjD`,
	},
}

func nearAll(t *testing.T, what string, got, want Overlap, within float64) {
	t.Helper()
	near(t, what+" precision", got.Precision, want.Precision, within)
	near(t, what+" recall", got.Recall, want.Recall, within)
	near(t, what+" F1", got.F1, want.F1, within)
}

func rougeL(t interface {
	Helper()
	Fatal(...any)
}, answer, target string) Overlap {
	o, err := RougeL(answer, target)
	expect.NoError(t, err)
	return o
}

// testRouge1AgainstRouge155, testRouge2AgainstRouge155 and testRougeLAgainstRouge155, all without stemming.
func TestAgainstRouge155(t *testing.T) {
	one := []Overlap{{0.68750, 0.40741, 0.51163}, {0.65385, 0.40476, 0.50000}}
	two := []Overlap{{0.53333, 0.30769, 0.39024}, {0.48000, 0.29268, 0.36364}}
	for i, c := range rouge155 {
		nearAll(t, "ROUGE-1", RougeN(c.prediction, c.target, 1), one[i], 5e-6)
		nearAll(t, "ROUGE-2", RougeN(c.prediction, c.target, 2), two[i], 5e-6)
		nearAll(t, "ROUGE-L", rougeL(t, c.prediction, c.target), one[i], 5e-6)
	}
}

// rouge/tokenize.py: lower case, then all but a-z and 0-9 divides. The Kelvin sign is k in lower case, and İ is i and
// a dot.
func TestRougeTokens(t *testing.T) {
	got := rougeTokens("It's 3.5 \u212Aelvin, café aİb_日本 X")
	if want := strings.Fields("it s 3 5 kelvin caf ai b x"); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

// What both texts have in common is the same from either side, and not more than either has.
func TestOverlapsHoldTheirBounds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		a, b := sentence.Draw(t, "a"), sentence.Draw(t, "b")
		of := map[string]func(a, b string) Overlap{
			"1": func(a, b string) Overlap { return RougeN(a, b, 1) }, "2": func(a, b string) Overlap { return RougeN(a, b, 2) },
			"L": func(a, b string) Overlap { return rougeL(t, a, b) }, "F1": F1,
		}
		for name, f := range of {
			there, back := f(a, b), f(b, a)
			if there.F1 != back.F1 || there.Precision != back.Recall || there.Recall != back.Precision {
				t.Fatalf("%s: %v and %v", name, there, back)
			}
			for _, v := range []float64{there.Precision, there.Recall, there.F1} {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("%s: %v", name, there)
				}
			}
			if same := f(a, a); same.F1 != 1 && same != (Overlap{}) {
				t.Fatalf("%s: %q beside itself is %v", name, a, same)
			}
		}
		if rougeL(t, a, b).F1 > RougeN(a, b, 1).F1 {
			t.Fatal("more in order than in any order")
		}
	})
}

func FuzzTexts(f *testing.F) {
	f.Add("the a", "\xffİ")
	f.Fuzz(func(t *testing.T, a, b string) {
		l, err := Levenshtein(a, b)
		o, err2 := RougeL(a, b)
		if err != nil || err2 != nil {
			t.Skip("too long")
		}
		for _, v := range []float64{l, JaroWinkler(a, b), F1(a, b).F1, RougeN(a, b, 2).F1, o.F1, BLEU(a, b, a)} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%v", v)
			}
		}
		if SQuAD(SQuAD(a)) != SQuAD(a) {
			t.Fatalf("%q is normalised again", SQuAD(a))
		}
	})
}
