package workspace

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
)

// A pack is a file of records that is only appended to. It begins with packMagic and
// eight random bytes, the salt. A record is a header and a payload:
//
//	0   recordMagic
//	4   kind, codec, depth, 0
//	8   size of the payload, size of what it decodes to
//	16  CRC-32C of the payload
//	20  key
//	52  CRC-32C of the salt and all of the header before
//
// The salt keeps a program from writing a file that looks like records where a pack is damaged.
const (
	packMagic   = "ABPACK1\n"
	recordMagic = "ABr1"
	packHeader  = len(packMagic) + 8
	headerSize  = 56
)

type (
	kind  byte
	codec byte
)

const (
	kindChunk kind = iota + 1 // of a file, or a whole one; the key is the hash
	kindList                  // the keys of a large file's chunks; the key is the hash of the file
	kindTree                  // the key is the tree's id
	kindName                  // a tree's id; the key is the hash of what the caller calls it
)

const (
	codecRaw    codec = iota
	codecZstd         // a frame of zstd
	codecBeside       // the key of earlier bytes, then a frame that refers to them
	codecDelta        // the key of another tree, then a frame with the delta
)

type record struct {
	key   ID
	kind  kind
	codec codec
	depth byte // how many records have to be read before it
	raw   int  // the size of what the payload decodes to
}

// place is where a record's payload stands.
type place struct {
	record
	pack   *pack
	at     int64
	stored int
	sum    uint32
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("the stored bytes are damaged")
)

func (p place) payload() ([]byte, error) {
	payload := make([]byte, p.stored)
	if _, err := p.pack.file.ReadAt(payload, p.at); err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != p.sum {
		return nil, errDamaged
	}
	return payload, nil
}

type pack struct {
	file    *os.File // to read
	own     *os.File // to append, where this process holds the pack
	salt    [8]byte
	end     int64   // of the last whole record
	damaged []int64 // where records cannot be read and others follow
}

func (p *pack) close() error {
	if p.own != nil && p.own != p.file {
		return errors.Join(p.file.Close(), p.own.Close())
	}
	return p.file.Close()
}

// begin writes the head of a new pack.
func (p *pack) begin() error {
	info, err := p.file.Stat()
	if err != nil || info.Size() >= int64(packHeader) {
		return err
	}
	rand.Read(p.salt[:])
	p.end = int64(packHeader)
	_, err = p.own.WriteAt(append([]byte(packMagic), p.salt[:]...), 0)
	return err
}

// scan adds to an index what was appended since the last scan. It ends before a record that is not whole.
func (p *pack) scan(index map[ID]place) error {
	info, err := p.file.Stat()
	if err != nil || info.Size() < int64(packHeader) {
		return err
	}
	if p.end == 0 {
		var head [16]byte
		if _, err := p.file.ReadAt(head[:], 0); err != nil {
			return err
		}
		if string(head[:len(packMagic)]) != packMagic {
			return errors.New("another version wrote this pack")
		}
		p.salt, p.end = [8]byte(head[len(packMagic):]), int64(packHeader)
	}
	for p.end < info.Size() {
		at, ok := p.header(p.end, info.Size())
		if last := at.at + int64(at.stored); ok && last == info.Size() {
			_, err := at.payload()
			ok = err == nil
		}
		if !ok {
			next, err := p.next(p.end+1, info.Size())
			if next < 0 || err != nil {
				return err
			}
			p.damaged, p.end = append(p.damaged, p.end), next
			continue
		}
		if _, known := index[at.key]; !known {
			index[at.key] = at
		}
		p.end = at.at + int64(at.stored)
	}
	return nil
}

// header reads the header at an offset of a file of such a size.
func (p *pack) header(offset, size int64) (place, bool) {
	var h [headerSize]byte
	if _, err := p.file.ReadAt(h[:], offset); err != nil || string(h[:4]) != recordMagic || p.checksum(h[:52]) != binary.LittleEndian.Uint32(h[52:]) {
		return place{}, false
	}
	at := place{
		record: record{key: ID(h[20:52]), kind: kind(h[4]), codec: codec(h[5]), depth: h[6], raw: int(binary.LittleEndian.Uint32(h[12:]))},
		pack:   p, at: offset + headerSize, stored: int(binary.LittleEndian.Uint32(h[8:])), sum: binary.LittleEndian.Uint32(h[16:]),
	}
	return at, at.at+int64(at.stored) <= size
}

func (p *pack) checksum(header []byte) uint32 {
	return crc32.Update(crc32.Checksum(p.salt[:], castagnoli), castagnoli, header)
}

// next is where the next header stands; negative where none does.
func (p *pack) next(offset, size int64) (int64, error) {
	window := make([]byte, chunkSize)
	for offset < size {
		n, err := p.file.ReadAt(window[:min(int64(len(window)), size-offset)], offset)
		if err != nil {
			return -1, err
		}
		for at := 0; ; at++ {
			found := bytes.Index(window[at:n], []byte(recordMagic))
			if found < 0 {
				break
			}
			at += found
			if _, ok := p.header(offset+int64(at), size); ok {
				return offset + int64(at), nil
			}
		}
		if n < headerSize {
			break
		}
		offset += int64(n - len(recordMagic) + 1)
	}
	return -1, nil
}

// cut removes what a crash left of a record at the end.
func (p *pack) cut() error { return p.own.Truncate(p.end) }

func (p *pack) append(r record, payload []byte) (place, error) {
	at := place{record: r, pack: p, at: p.end + headerSize, stored: len(payload), sum: crc32.Checksum(payload, castagnoli)}
	whole := make([]byte, 0, headerSize+len(payload))
	whole = append(whole, recordMagic...)
	whole = append(whole, byte(r.kind), byte(r.codec), r.depth, 0)
	whole = binary.LittleEndian.AppendUint32(whole, uint32(len(payload)))
	whole = binary.LittleEndian.AppendUint32(whole, uint32(r.raw))
	whole = binary.LittleEndian.AppendUint32(whole, at.sum)
	whole = append(whole, r.key[:]...)
	whole = binary.LittleEndian.AppendUint32(whole, p.checksum(whole))
	if _, err := p.own.WriteAt(append(whole, payload...), p.end); err != nil {
		return place{}, errors.Join(err, p.cut())
	}
	p.end = at.at + int64(len(payload))
	return at, nil
}
