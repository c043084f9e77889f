package main

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
)

// logFile is a log that is hashed as it is read.
type logFile struct {
	*os.File
	hash hash.Hash
	read int64
}

// openedLog is a log, and the hash of all that it holds.
type openedLog interface {
	io.ReadCloser
	sum() (string, error)
}

func (im *importing) openLog(path string) (openedLog, error) {
	if path == "-" {
		return &pipedLog{r: im.in, hash: sha256.New()}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fail(notMeasured, "", "%w", err)
	}
	return &logFile{File: f, hash: sha256.New()}, nil
}

func (l *logFile) Read(b []byte) (int, error) {
	n, err := l.File.Read(b)
	l.hash.Write(b[:n])
	l.read += int64(n)
	return n, err
}

// sum is the hash of the whole file, also where it was not read in its order.
func (l *logFile) sum() (string, error) {
	if info, err := l.Stat(); err != nil || info.Size() != l.read {
		l.hash.Reset()
		if _, err := l.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		if _, err := io.Copy(l.hash, l.File); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(l.hash.Sum(nil)[:16]), nil
}

// pipedLog is stdin, which cannot be read at any place.
type pipedLog struct {
	r    io.Reader
	hash hash.Hash
}

func (l *pipedLog) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	l.hash.Write(b[:n])
	return n, err
}

func (l *pipedLog) Close() error { return nil }

func (l *pipedLog) sum() (string, error) { return hex.EncodeToString(l.hash.Sum(nil)[:16]), nil }
