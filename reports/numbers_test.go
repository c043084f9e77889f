package reports

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersForPeople(t *testing.T) {
	at := func(x float64) Value { return known(x) }
	for got, want := range map[string]string{
		score(at(0.715), 2):               "0.71", // 0.715 is a little less
		score(at(-0.001), 2):              "0.00",
		score(missing(none), 2):           "none",
		gain(at(0.05), 2):                 "+0.05",
		gain(at(-0.05), 2):                "-0.05",
		gain(at(0), 3):                    "0.000",
		percent(at(0.951)):                "95%",
		percent(at(0.001)):                "<1%",
		percent(at(0.999)):                ">99%",
		percent(at(1)):                    "100%",
		percent(at(0)):                    "0%",
		dollars(at(0.0123), 4):            "$0.0123",
		dollars(at(0), 4):                 "$0",
		dollars(at(0.0000012), 4):         "$0.00000120",
		dollars(at(1234567), 2):           "$1.23M",
		dollars(at(-0.5), 2):              "-$0.50",
		dollars(missing(unpriced), 4):     "unpriced",
		extraDollars(at(0.0123), 4):       "+$0.0123",
		seconds(at(0.45)):                 "450 ms",
		seconds(at(12.34)):                "12.3 s",
		seconds(at(0.9999)):               "1.00 s",
		seconds(at(999)):                  "999 s",
		seconds(at(1500)):                 "25.0 min",
		seconds(at(90000)):                "25.0 h",
		seconds(at(3e-10)):                "0.000000300 ms",
		extraSeconds(at(-2)):              "-2.00 s",
		count(at(2)):                      "2",
		count(at(2.5)):                    "2.5",
		count(at(99.97)):                  "100",
		count(at(999)):                    "999",
		count(at(999.7)):                  "1.00k",
		count(at(1234)):                   "1.23k",
		count(at(12_345_678)):             "12.3M",
		count(at(2e9)):                    "2.00G",
		joined("1.95 s", " / ", "2.87 s"): "1.95 / 2.87 s",
		joined("450 ms", " / ", "2.87 s"): "450 ms / 2.87 s",
		joined("1", " / ", "2"):           "1 / 2",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBriefKeepsThreeDigits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(1e-9, 1e11).Draw(rt, "x")
		text := brief(x)
		number, factor := text, 1.0
		if unit := text[len(text)-1]; unit >= 'A' {
			number, factor = text[:len(text)-1], map[byte]float64{'k': 1e3, 'M': 1e6, 'G': 1e9}[unit]
		}
		var back float64
		if _, err := fmt.Sscan(number, &back); err != nil || math.Abs(back*factor-x) > x*0.0051 {
			rt.Fatalf("brief(%v) = %q", x, text)
		}
	})
}

func TestRelativeChanges(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.0%", 0.0004: "+0.0%", 0.123: "+12.3%", -0.123: "-12.3%", 1.5: "+150%", -1: "-100%", 8.9: "+890%", 11: "×12.0", 1999: "×2.00k", 1e9: "×>1M",
	} {
		if got := relative(known(x)); got != want {
			t.Errorf("relative(%v) = %q, want %q", x, got, want)
		}
	}
	for p, want := range map[float64]string{1: "1.000", 0.0312: "0.031", 0.001: "0.001", 0.00099: "<0.001", 4e-36: "<0.001"} {
		if got := chance(known(p)); got != want {
			t.Errorf("chance(%v) = %q, want %q", p, got, want)
		}
	}
}
