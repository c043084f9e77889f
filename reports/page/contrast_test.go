package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// luminance is the relative one of WCAG 2.
func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	if len(colour) == 4 {
		colour = fmt.Sprintf("#%c%c%c%c%c%c", colour[1], colour[1], colour[2], colour[2], colour[3], colour[3])
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		x := float64(n) / 255
		if x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += weight * x
	}
	return sum
}

// Texts have a contrast of 4.5 to what is behind them in both themes, and what is drawn one
// of 3 to the page: WCAG 2, level AA.
func TestColoursHaveContrast(t *testing.T) {
	themes := regexp.MustCompile(`(?s):root \{.*?--h7[^}]*\}`).FindAllString(htmlStyle, -1)
	if len(themes) != 2 {
		t.Fatalf("%d themes", len(themes))
	}
	for i, theme := range themes {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9]+): (#[0-9a-f]+)`).FindAllStringSubmatch(theme, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		check := func(front, behind string, least float64) {
			a, b := colours[front], colours[behind]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("theme %d: %s on %s has a contrast of %.2f, not %v", i, front, behind, ratio, least)
			}
		}
		for _, front := range []string{"fg", "dim", "link"} {
			for _, behind := range []string{"bg", "soft"} {
				check(front, behind, 4.5)
			}
		}
		for n := range shades {
			front := "fg"
			if n >= 5 {
				front = "bg"
			}
			check(front, fmt.Sprint("h", n), 4.5)
		}
		for _, mark := range []string{"c0", "c1", "c2", "c3", "c4", "c5", "grey", "good", "bad", "warn"} {
			check(mark, "bg", 3)
		}
	}
}
