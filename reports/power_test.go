package reports

import (
	"math"
	"strings"
	"testing"
)

// The table of STATISTICS, section 3: points by tasks and by the share of them
// that come out differently. A difference larger than the share cannot be.
func TestSmallestDifferences(t *testing.T) {
	for tasks, want := range map[int][4]float64{
		20: {14.0, 19.8, 24.3, 31.3}, 50: {8.9, 12.5, 15.3, 19.8}, 100: {6.3, 8.9, 10.9, 14.0},
		200: {4.4, 6.3, 7.7, 9.9}, 500: {2.8, 4.0, 4.9, 6.3}, 1000: {2.0, 2.8, 3.4, 4.4},
	} {
		text := AssumedPower(tasks, 1)
		for i, share := range discordance {
			got, ok := power.Detectable(share, float64(tasks))
			if !ok || math.Abs(100*got-want[i]) > 0.05 {
				t.Errorf("%d tasks, %s: %v, want %v points", tasks, percent(share), 100*got, want[i])
			}
			if told := strings.Contains(text, points(got)[:len(points(got))-len(" points")]); told != (got <= share) {
				t.Errorf("%d tasks, %s: %v points, of which is told %q", tasks, percent(share), 100*got, text)
			}
		}
	}
}

func TestPowerInAFewWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{AssumedPower(100, 1), "100 tasks can show a difference of success rates of 8.9 points where 10% of them come out differently, 10.9 at 15%, 14.0 at 25%, none below 7.8 points (at 5%, with a power of 80%)"},
		{AssumedPower(100, 4), "; 4 trials of each make that 50% of it at best"},
		{AssumedPower(20, 1), "20 tasks can show no difference of success rates below 39.2 points (at 5%, with a power of 80%)"},
		{AssumedPower(7, 1), "7 tasks can show no difference of success rates"},
		{AssumedNeed(0.05), "to show a difference of 5.0 points takes 155 tasks where 5% of them come out differently, 312 at 10%, 469 at 15%, 783 at 25%"},
		{AssumedNeed(0.3), "to show a difference of 30.0 points takes 24 tasks where 30% of them come out differently"},
	} {
		if !strings.HasSuffix(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
