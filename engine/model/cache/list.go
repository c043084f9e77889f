package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Listed is an entry as it lies in a folder.
type Listed struct {
	Head
	Bytes int64
	Used  time.Time // last, to about a day
}

// List gives the entries of a folder, by key. It reads their heads only. An
// entry that cannot be read is an error between the others; one that vanishes
// meanwhile is left out. A folder that is not there is an fs.ErrNotExist.
func List(dir string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		buffer := make([]byte, 8<<10)
		for file, err := range files(dir) {
			if err != nil {
				yield(Listed{}, err)
				return
			}
			if isTemporary(file.Name()) {
				continue
			}
			listed, err := file.head(buffer)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(listed, err) {
				return
			}
		}
	}
}

// file is a file of the cache, temporary ones included.
type file struct {
	fs.DirEntry
	path string
}

// files walks the folder, one of its 256 parts at a time. What is not the
// cache's is passed over.
func files(dir string) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		parts, err := os.ReadDir(dir)
		if err != nil {
			yield(file{}, fmt.Errorf("listing the cache: %w", err))
			return
		}
		for _, part := range parts {
			if !part.IsDir() || !isHex(part.Name(), 2) {
				continue
			}
			if !filesOf(filepath.Join(dir, part.Name()), yield) {
				return
			}
		}
	}
}

// filesOf walks one part, and says whether to go on.
func filesOf(dir string, yield func(file, error) bool) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		yield(file{}, fmt.Errorf("listing the cache: %w", err))
		return false
	}
	for _, e := range entries {
		if e.Type().IsRegular() && (isHex(e.Name(), 2*len(Key{})-2) || isTemporary(e.Name())) {
			if !yield(file{e, filepath.Join(dir, e.Name())}, nil) {
				return false
			}
		}
	}
	return true
}

func isHex(name string, digits int) bool {
	if len(name) != digits {
		return false
	}
	_, err := hex.DecodeString(name)
	return err == nil
}

// head reads the file's head. The buffer holds nearly all of them.
func (f *file) head(buffer []byte) (Listed, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return Listed{}, fmt.Errorf("listing the cache: %w", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return Listed{}, fmt.Errorf("listing the cache: %w", err)
	}
	start := buffer[:min(int64(len(buffer)), info.Size())]
	if _, err := io.ReadFull(opened, start); err != nil {
		return Listed{}, fmt.Errorf("%s: %w", f.path, errDamaged)
	}
	head, _, err := decodeHead(start)
	if err != nil && info.Size() > int64(len(buffer)) && info.Size() <= largest {
		head, err = longHead(f.path)
	}
	if err != nil {
		return Listed{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return Listed{Head: *head, Bytes: info.Size(), Used: info.ModTime()}, nil
}

// longHead reads a head that is longer than usual, for instance by its task's id.
func longHead(path string) (*Head, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, _, err := decodeHead(content)
	return head, err
}

// Pruned says what Prune did.
type Pruned struct {
	Removed, Kept           int
	RemovedBytes, KeptBytes int64
}

// Prune removes the entries that were not used for longest until all together
// take so many bytes at most, and what crashed writers left behind. Ages are
// told apart to 2 %, so that memory does not grow with the number of entries.
// Suites may go on using the cache meanwhile.
func Prune(dir string, most int64, now time.Time) (Pruned, error) {
	ages, err := weigh(dir, now)
	if err != nil {
		return Pruned{}, err
	}
	p := &pruning{now: now}
	p.oldest, p.surplus = ages.cut(most)
	for file, err := range files(dir) {
		if err != nil {
			return p.Pruned, err
		}
		if err := p.visit(&file); err != nil && p.failed == nil {
			p.failed = fmt.Errorf("pruning the cache: %w", err)
		}
	}
	return p.Pruned, p.failed
}

// ages has the bytes of the entries of every age; see ageOf.
type ages [ageSteps * ageOctaves]int64

const (
	ageSteps   = 64 // for each doubling of the age
	ageOctaves = 32 // from 1 second to 136 years
)

// ageOf is the logarithm of the time since the last use.
func ageOf(used, now time.Time) int {
	seconds := now.Sub(used).Seconds()
	if seconds <= 1 {
		return 0
	}
	return min(int(ageSteps*math.Log2(seconds)), len(ages{})-1)
}

func weigh(dir string, now time.Time) (*ages, error) {
	var a ages
	for file, err := range files(dir) {
		if err != nil {
			return nil, err
		}
		info, err := file.Info()
		if err != nil || isTemporary(file.Name()) {
			continue // it vanished, or is no entry
		}
		a[ageOf(info.ModTime(), now)] += info.Size()
	}
	return &a, nil
}

// cut finds the age above which everything goes, and how many bytes of that age
// itself have to.
func (a *ages) cut(most int64) (age int, surplus int64) {
	for _, bytes := range a {
		surplus += bytes
	}
	surplus -= most
	for age = len(a) - 1; age >= 0 && a[age] < surplus; age-- {
		surplus -= a[age]
	}
	return age, surplus
}

// pruning is the second walk, which removes.
type pruning struct {
	Pruned
	now     time.Time
	oldest  int   // the highest age that may stay
	surplus int64 // of that age
	failed  error // the first one; what can go goes nevertheless
}

// abandoned is how old a temporary file is that nobody is writing any more.
const abandoned = time.Hour

func (p *pruning) visit(f *file) error {
	info, err := f.Info()
	if err != nil {
		return unlessGone(err)
	}
	if isTemporary(f.Name()) {
		if p.now.Sub(info.ModTime()) > abandoned {
			return unlessGone(os.Remove(f.path))
		}
		return nil
	}
	if !p.tooMuch(info) {
		p.Kept, p.KeptBytes = p.Kept+1, p.KeptBytes+info.Size()
		return nil
	}
	if err := os.Remove(f.path); err != nil {
		return unlessGone(err)
	}
	p.Removed, p.RemovedBytes = p.Removed+1, p.RemovedBytes+info.Size()
	return nil
}

func (p *pruning) tooMuch(info fs.FileInfo) bool {
	age := ageOf(info.ModTime(), p.now)
	if age != p.oldest || p.surplus <= 0 {
		return age > p.oldest
	}
	p.surplus -= info.Size()
	return true
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
