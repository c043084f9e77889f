package textual

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// alike are answers that all mean the same.
var alike = [][]string{
	{"18", " 18.", "18.0", "+18", "$18", "$18$", `\$18`, "$ 18.00", "18 eggs", `\boxed{18}`, "so it is $\\boxed{18}$ eggs", "x = 18", "(18)",
		"36/2", `\frac{36}{2}`, "1.8e1", "1.8*10^1", `1.8 \times 10^{1}`, "1800%", "18 dollars", `18\text{ cm}`, "18cm", "18 €"},
	{"0.5", "1/2", ".5", `\frac12`, `\frac{1}{2}`, `\dfrac{1}{2}`, `\tfrac 1 2`, "½", "50%", `50\%`, "50 percent", "2 / 4", "5e-1", `\frac{\frac{1}{1}}{2}`},
	{"1 1/2", "1.5", "3/2", `1\frac{1}{2}`, `1 \frac12`, "1½", "150%", "1 ½"},
	{"-3/4", "\u22120.75", `-\frac{3}{4}`, `\frac{-3}{4}`, `\frac{3}{-4}`, "-75%", "-¾"},
	{"1234567.5", "1,234,567.5", "$1,234,567.50", `1{,}234{,}567.5`, `1,\!234,\!567.5`},
	{"2000000", "2 million", "$2 million", "2e6", "2x10^6", "2 × 10^6", "2,000 thousand"},
	{"100000", "10^5", "10^{5}", `10^{ 5 }`},
	{"(1, 2)", "(1,2)", `\left(1, 2\right)`, "( 1.0 , 4/2 )", "(1; 2)"},
	{"{1, 2}", `\{2, 1\}`, "1, 2", "2,1", "2; 1", `1, \frac{4}{2}`},
	{"(1,234, 5)", "(1234, 5)", "(1,234; 5)"},
	{"1, 2, 3", "1, 2,3", "{3, 1, 2}"},
	{"(1, 2], x", "(1, 2],x"}, // no list of numbers: a text
	{`(-\infty, 5]`, `( -\infty , 5.0 ]`},
	{`2\sqrt{3}`, `2 \sqrt{3}`, `2\sqrt3`, `$2\sqrt{3}$`, `\boxed{2\sqrt{3}}`},
	{"x^2 + 1", "x^{2}+1", `$x^2+1$`},
	{"B", "(B)", `\text{B}`, "B."},
	{"5 km/h", "5 km per h", `5\text{ km/h}`},
	{"3 square meters", "3 square meter"},
	{"90 degrees", "90°", `90^\circ`, `90^{\circ}`},
}

func TestAnswersThatAreAlike(t *testing.T) {
	for _, group := range alike {
		for _, a := range group {
			if !Parse(group[0]).Equal(Parse(a), nil) || !Parse(a).Equal(Parse(group[0]), nil) {
				t.Errorf("%q (%s) is not %q (%s)", a, written(Parse(a)), group[0], written(Parse(group[0])))
			}
		}
	}
}

func TestAnswersThatDiffer(t *testing.T) {
	for _, c := range [][2]string{
		{"50%", "50"}, {"18 eggs", "18 dollars"}, {"$18", "18 euros"}, {"18 more", "18"}, {"about 18", "18"}, {"18 or 19", "18"},
		{"2x", "2"}, {"2 x", "2"}, {"2 pi", "2"}, {`2\pi`, "2"}, {"2ab", "2"}, {"2i", "2"}, {"3 dozen", "3"}, {"5 pm", "5"}, {"~5", "5"},
		{"1/3", "0.333"}, {"1/0", "0"}, {"1/2/3", "1/6"}, {"1/2/2020", "1/4040"}, {"12:30", "12"}, {"5-3", "5"}, {"1.234.567", "1234567"},
		{"(1, 2)", "(2, 1)"}, {"(1, 2)", "{1, 2}"}, {"(1, 2)", "[1, 2]"}, {"(1, 2)", "(1, 2, 3)"}, {"{1, 1, 2}", "{1, 2, 2}"}, {"(1, 2]", "(1, 2)"},
		{"1, 2", "1, 2, 3"}, {"Paris, Rome", "Rome, Paris"}, {"b", "B"}, {`\frac{1}{2}x`, "1/2"}, {"1e5", "1e6"}, {"1 3/2", "2.5"}, {"1 -1/2", "0.5"},
		{"1e999999999", "1"}, {"1e999999999", "2e999999999"}, {`\boxed{1} or \boxed{2}`, "1"}, {"50% of 18", "9"}, {"", "0"}, {"$$", "0"},
	} {
		if Parse(c[0]).Equal(Parse(c[1]), nil) {
			t.Errorf("%q (%s) is %q (%s)", c[0], written(Parse(c[0])), c[1], written(Parse(c[1])))
		}
	}
}

// written shows what was read.
func written(v Value) string {
	switch {
	case v.number != nil:
		return "number " + v.number.RatString() + " " + v.unit
	case v.list != "":
		var items []string
		for _, item := range v.items {
			items = append(items, written(item))
		}
		return "list " + v.list + fmt.Sprint(items)
	}
	return "text " + v.Text
}

func TestTolerance(t *testing.T) {
	for _, c := range []struct {
		a, b      string
		tolerance float64
		want      bool
	}{
		{"1.3", "1", 0.3, true}, // in binary 0.3 is less
		{"1.3000001", "1", 0.3, false},
		{"1/3", "0.333", 0.001, true},
		{"3.14", "3.14159", 0.01, true},
		{"(1, 2)", "(1.05, 1.95)", 0.1, true},
		{"{1, 1.1}", "{1.05, 1.15}", 0.06, true},
		{"{1, 1.1}", "{1.1, 0.9}", 0.1, true}, // 1 is near to both, and must leave 1.1 to 1.1
		{"51%", "0.5", 0.01, true},
		{"x", "y", 100, false},
	} {
		if got := Parse(c.a).Equal(Parse(c.b), Tolerance(c.tolerance)); got != c.want {
			t.Errorf("%s is %s within %v: %v", c.a, c.b, c.tolerance, got)
		}
	}
}

// What is large is a text, and nothing takes long.
func TestLargeAnswers(t *testing.T) {
	begin := time.Now()
	for _, s := range []string{
		"1e999999999", "1e-999999999", "1e1001", "1e-1001", strings.Repeat("9", 1<<20), strings.Repeat("(", 1<<20), strings.Repeat("1,", 1<<19),
		strings.Repeat(`\frac{`, 1<<17), strings.Repeat(`\text{`, 1<<17), strings.Repeat(`\boxed{`, 1<<17), strings.Repeat("$", 1<<20),
		"(" + strings.Repeat("1, ", 500) + "1)", "((((1))))" + strings.Repeat("}", 1<<20), "10^{" + strings.Repeat("9", 300) + "}",
	} {
		if v := Parse(s); v.number != nil || v.list != "" || !v.Equal(v, nil) {
			t.Errorf("%.20s… is %.60s", s, written(v))
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
	if v := Parse("1e1000"); v.number == nil || v.number.Cmp(new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(1000), nil))) != 0 {
		t.Error("1e1000 is no number")
	}
}

func FuzzParse(f *testing.F) {
	for _, group := range alike {
		f.Add(group[0], group[len(group)-1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v, w := Parse(a), Parse(b)
		if !v.Equal(v, nil) || v.Equal(w, nil) != w.Equal(v, nil) {
			t.Fatalf("%q (%s) and %q (%s)", a, written(v), b, written(w))
		}
		if v.Equal(w, nil) && !v.Equal(w, big.NewRat(1, 10)) {
			t.Fatalf("%q and %q are equal, but not within a tenth", a, b)
		}
	})
}
