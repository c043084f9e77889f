package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"
)

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
