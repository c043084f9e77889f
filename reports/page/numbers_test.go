package page

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func TestNumbersForPeople(t *testing.T) {
	at := func(x float64) Value { return Known(x) }
	for got, want := range map[string]string{
		Score(at(0.715), 2):               "0.71", // 0.715 is a little less
		Score(at(-0.001), 2):              "0.00",
		Score(Missing(None), 2):           "none",
		Gain(at(0.05), 2):                 "+0.05",
		Gain(at(-0.05), 2):                "-0.05",
		Gain(at(0), 3):                    "0.000",
		Percent(at(0.951)):                "95%",
		Percent(at(0.001)):                "<1%",
		Percent(at(0.999)):                ">99%",
		Percent(at(1)):                    "100%",
		Percent(at(0)):                    "0%",
		Dollars(at(0.0123), 4):            "$0.0123",
		Dollars(at(0), 4):                 "$0",
		Dollars(at(0.0000012), 4):         "$0.00000120",
		Dollars(at(1234567), 2):           "$1.23M",
		Dollars(at(-0.5), 2):              "-$0.50",
		Dollars(Missing(Unpriced), 4):     "unpriced",
		ExtraDollars(at(0.0123), 4):       "+$0.0123",
		Seconds(at(0.45)):                 "450 ms",
		Seconds(at(12.34)):                "12.3 s",
		Seconds(at(0.9999)):               "1.00 s",
		Seconds(at(999)):                  "999 s",
		Seconds(at(1500)):                 "25.0 min",
		Seconds(at(90000)):                "25.0 h",
		Seconds(at(3e-10)):                "0.000000300 ms",
		ExtraSeconds(at(-2)):              "-2.00 s",
		Whole(at(2)):                      "2",
		Whole(at(2.5)):                    "2.5",
		Whole(at(99.97)):                  "100",
		Whole(at(999)):                    "999",
		Whole(at(999.7)):                  "1.00k",
		Whole(at(1234)):                   "1.23k",
		Whole(at(12_345_678)):             "12.3M",
		Whole(at(2e9)):                    "2.00G",
		Joined("1.95 s", " / ", "2.87 s"): "1.95 / 2.87 s",
		Joined("450 ms", " / ", "2.87 s"): "450 ms / 2.87 s",
		Joined("1", " / ", "2"):           "1 / 2",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBriefKeepsThreeDigits(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
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
		if got := Relative(Known(x)); got != want {
			t.Errorf("Relative(%v) = %q, want %q", x, got, want)
		}
	}
	for p, want := range map[float64]string{1: "1.000", 0.0312: "0.031", 0.001: "0.001", 0.00099: "<0.001", 4e-36: "<0.001"} {
		if got := Chance(Known(p)); got != want {
			t.Errorf("Chance(%v) = %q, want %q", p, got, want)
		}
	}
}

func TestDollarsShowSmallAmounts(t *testing.T) {
	for usd, want := range map[float64]string{
		0: "$0.00", 4e-7: "$0.0000004", 0.00012345: "$0.000123", 0.001: "$0.0010", 0.00996: "$0.00996", 0.009996: "$0.01", 0.02: "$0.02", 12.345: "$12.35",
		999.999: "$1,000.00", 9223371.5: "$9,223,371.50",
	} {
		if got := USD(usd); got != want {
			t.Errorf("USD(%v) = %s, want %s", usd, got, want)
		}
	}
}

func TestBytesHaveUnitsOf1000(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 999_499: "999 kB", 999_500: "1 MB", 1234567: "1.23 MB", 5e9: "5 GB"} {
		if got := Bytes(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}
