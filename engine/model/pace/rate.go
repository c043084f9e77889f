package pace

import "time"

// What may come at once of a minute's worth, as a share. The rate is lower by as
// much, so that no minute holds more than was declared.
const (
	requestBurst = 1.0 / 60
	tokenBurst   = 1.0 / 10
)

// bucket is a declared rate: it fills with time, and calls take from it. One
// that takes more than there can ever be leaves a debt, which the next ones
// wait for. The zero bucket allows everything.
type bucket struct {
	rate  float64 // a second; 0: no limit
	burst float64
	level float64
	at    time.Time // of the level
}

func newBucket(perMinute int64, share float64, now time.Time) bucket {
	if perMinute <= 0 {
		return bucket{}
	}
	burst := max(1, float64(perMinute)*share)
	rate := (float64(perMinute) - (burst - 1)) / 60
	return bucket{rate: rate, burst: burst, level: burst, at: now}
}

// wait is how long until so much may be taken.
func (b *bucket) wait(n int64, now time.Time) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.fill(now)
	lacks := min(float64(n), b.burst) - b.level
	if lacks <= 1e-9 {
		return 0
	}
	return time.Duration(lacks/b.rate*float64(time.Second)) + 1
}

func (b *bucket) take(n int64, now time.Time) {
	if b.rate == 0 {
		return
	}
	b.fill(now)
	b.level -= float64(n)
}

func (b *bucket) fill(now time.Time) {
	if passed := now.Sub(b.at); passed > 0 {
		b.level = min(b.burst, b.level+b.rate*passed.Seconds())
		b.at = now
	}
}
