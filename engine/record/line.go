package record

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line of records.jsonl, signals.jsonl or scores.jsonl is one JSON object and
// a line feed. Its first key is the checksum of all that follows:
//
//	{"crc":"1b2d6c3f","v":1,"run":"default/backend-1/1", ...}
//
// The eight lower-case digits are the CRC-32C (Castagnoli) of the bytes from
// behind their closing quote to the end of the object.
const (
	lineHead = `{"crc":"00000000"`
	crcAt    = len(`{"crc":"`)
	// longestLine bounds the memory that a damaged file can take: a longer line
	// is neither written nor read.
	longestLine = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal turns lineHead and the object behind it, which start at that offset of
// the buffer, into a line. The object is compact and has at least one key.
func seal(buffer []byte, start int) ([]byte, error) {
	line := buffer[start:]
	if len(line) >= longestLine {
		return nil, fmt.Errorf("it takes %d MiB, and a line holds %d", len(line)>>20, longestLine>>20)
	}
	line[len(lineHead)] = ','
	putHex(line[crcAt:len(lineHead)-1], crc32.Checksum(line[len(lineHead):], castagnoli))
	return append(buffer, '\n'), nil
}

var (
	errNoChecksum = errors.New("no checksum")
	errChecksum   = errors.New("the checksum does not fit")
)

// unseal checks a line, without its line feed, and returns the object in it
// without the checksum. The result shares the line's memory and changes it.
func unseal(line []byte) ([]byte, error) {
	if len(line) < len(lineHead)+2 || !bytes.HasPrefix(line, []byte(lineHead[:crcAt])) || line[len(lineHead)-1] != '"' {
		return nil, errNoChecksum
	}
	var want [8]byte
	putHex(want[:], crc32.Checksum(line[len(lineHead):], castagnoli))
	if !bytes.Equal(line[crcAt:len(lineHead)-1], want[:]) {
		return nil, errChecksum
	}
	object := line[len(lineHead):]
	object[0] = '{'
	return object, nil
}

func putHex(dst []byte, sum uint32) {
	const digits = "0123456789abcdef"
	for i := range dst {
		dst[i] = digits[sum>>28]
		sum <<= 4
	}
}
