package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Damage lists the bad lines of the records of a folder, from their first byte to
// their last. ReadSignals reads no more of the records than it needs, and so does
// not know of all of them.
func Damage(dir string) ([]*Problem, error) {
	f, size, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []*Problem
	for _, err := range scan(recordsFile, io.NewSectionReader(f, 0, size), place{}) {
		var problem *Problem
		switch {
		case errors.As(err, &problem):
			found = append(found, problem)
		case err != nil:
			return found, fmt.Errorf("reading the records: %w", err)
		}
	}
	return found, nil
}
