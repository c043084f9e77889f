// Package asif decides what a call that never happens stands for: how long it
// would have taken and what it would have used. Chance comes from a hash of
// what the call is, never from the order in which calls arrive, so that the
// same suite gives the same numbers at any concurrency.
package offline

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Draws gives the chance that belongs to a seed and to what the texts and
// numbers name: the same for the same arguments, unrelated for any others.
func Draws(seed int64, texts []string, numbers ...uint64) *rand.Rand {
	b := make([]byte, 0, 256)
	b = binary.LittleEndian.AppendUint64(b, uint64(seed))
	for _, text := range texts {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	sum := sha256.Sum256(b)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}
