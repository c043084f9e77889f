package spec

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// shelf holds what cannot be read in any order from where it is: what is packed lies unpacked in a file without a name,
// and what is read whole in memory.
type shelf struct {
	mu       sync.Mutex
	unpacked map[*dataFile]*os.File
	whole    map[*dataFile][]row
}

// take gives a file in a form in which its rows can be read in any order.
func (s *shelf) take(file *dataFile, each *Expr) (from seekable, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file.whole {
		from.rows, err = s.rows(file, each)
		return from, err
	}
	if from.text, err = s.text(file); err != nil || !file.isCSV() {
		return from, err
	}
	head, err := file.table(io.NewSectionReader(from.text, 0, 1<<62))
	from.columns = head.columns
	return from, err
}

func (s *shelf) text(file *dataFile) (readerAt, error) {
	if !file.format.packed {
		opened, err := file.folder.open(file.path, 0)
		if err != nil {
			return nil, err
		}
		if text, ok := opened.(readerAt); ok {
			return text, nil
		}
		opened.Close()
	}
	text, err := s.unpack(file)
	return kept{text}, err
}

// kept is a file that stays open.
type kept struct{ io.ReaderAt }

// Close implements io.Closer.
func (kept) Close() error { return nil }

func (s *shelf) rows(file *dataFile, each *Expr) (rows []row, err error) {
	if known, ok := s.whole[file]; ok {
		return known, nil
	}
	for r, err := range file.rows(each) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if s.whole == nil {
		s.whole = map[*dataFile][]row{}
	}
	s.whole[file] = rows
	return rows, nil
}

// unpack copies the text of a file to one without a name, which is gone with the process.
func (s *shelf) unpack(file *dataFile) (*os.File, error) {
	if known, ok := s.unpacked[file]; ok {
		return known, nil
	}
	opened, err := file.open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := os.CreateTemp("", "agentbench-tasks-*")
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", file.name, err)
	}
	os.Remove(text.Name()) // where that fails, it is one more temporary file
	if _, err := io.Copy(text, opened); err != nil {
		text.Close()
		return nil, fmt.Errorf("unpacking %s: %w", file.name, err)
	}
	if s.unpacked == nil {
		s.unpacked = map[*dataFile]*os.File{}
	}
	s.unpacked[file] = text
	return text, nil
}
