package mockserver

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

// Latency is lognormal around a median; a sigma of 0 is constant.
type Latency struct {
	Median time.Duration
	Sigma  float64
}

// of draws how long the answer to a request takes to begin.
func (l Latency) of(seed uint64, request *chatRequest) time.Duration {
	if l.Sigma <= 0 || l.Median <= 0 {
		return l.Median
	}
	chance := rand.New(rand.NewPCG(draw(seed, "latency", request)))
	return time.Duration(float64(l.Median) * math.Exp(l.Sigma*chance.NormFloat64()))
}

// draw is a number that depends on the seed, on what it is for, on the request
// and on how often it came, but not on the order of arrival.
func draw(seed uint64, purpose string, request *chatRequest) (a, b uint64) {
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, 64), seed)
	text = binary.LittleEndian.AppendUint64(text, request.hash)
	text = binary.LittleEndian.AppendUint64(text, uint64(request.nth))
	sum := sha256.Sum256(append(text, purpose...))
	return binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])
}
