package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sizes are units of bytes, the longer names first: MB is 10^6 bytes, MiB 2^20.
var sizes = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// Size reads a number of bytes: 1000, 500MB, 1.5GiB. Every size that a person writes is
// read here.
func Size(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("want a size")
	}
	number, unit := text, int64(1)
	for _, u := range sizes {
		if at := len(text) - len(u.name); at >= 0 && strings.EqualFold(text[at:], u.name) {
			number, unit = text[:at], u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0 && n*float64(unit) < 1<<62) {
		return 0, fmt.Errorf("%q is not a size such as 500MB or 2GiB", text)
	}
	return int64(n * float64(unit)), nil
}
