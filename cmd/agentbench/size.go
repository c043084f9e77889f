package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// units are those of sizes, the longer names first.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize reads a number of bytes: 1000, 500MB, 1.5GiB.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("want a size")
	}
	number, unit := text, int64(1)
	for _, u := range units {
		if before, ok := cutSuffixFold(text, u.name); ok {
			number, unit = before, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0 && n*float64(unit) < 1<<62) {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return int64(n * float64(unit)), nil
}

func cutSuffixFold(text, suffix string) (before string, found bool) {
	at := len(text) - len(suffix)
	if at < 0 || !strings.EqualFold(text[at:], suffix) {
		return text, false
	}
	return text[:at], true
}

// sizeText is a number of bytes for people.
func sizeText(bytes int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if bytes >= u.bytes {
			return fmt.Sprintf("%.3g %s", float64(bytes)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
