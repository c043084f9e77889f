package record

import (
	"fmt"
	"io"
)

func (m *merger) writeRecords(w io.Writer) error {
	for i := range m.records {
		r := &m.records[i]
		if err := m.copy(w, 0, r.part, r.record); err != nil {
			return err
		}
	}
	return nil
}

// copy goes through one buffer for all lines.
func (m *merger) copy(w io.Writer, file int, part int32, line span) error {
	if m.buffer == nil {
		m.buffer = make([]byte, 1<<16)
	}
	plain := struct{ io.Writer }{w} // whose ReadFrom would take a buffer for each
	if _, err := io.CopyBuffer(plain, io.NewSectionReader(m.files[file][part], line.offset, line.bytes), m.buffer); err != nil {
		return fmt.Errorf("copying the results: %w", err)
	}
	return nil
}

// writeSignals also counts the runs, each by its last record.
func (m *merger) writeSignals(w io.Writer) error {
	m.totals = Totals{}
	var line []byte
	in := new(reader)
	for i := range m.records {
		var s *Signals
		var err error
		if line, s, err = m.signals(emptied(line), &m.records[i], in); err != nil {
			return err
		}
		if last := i+1 == len(m.records) || m.records[i+1].run != m.records[i].run; last {
			m.totals.Add(s)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// signals are the signals of a record and their line, made again where they are
// missing.
func (m *merger) signals(line []byte, r *mergedRecord, in *reader) ([]byte, *Signals, error) {
	if r.signals.bytes == 0 {
		return m.makeSignals(line, r)
	}
	text, err := m.line(m.text, 1, r.part, r.signals)
	if err != nil {
		return nil, nil, err
	}
	m.text = emptied(text)
	line = append(line, text...)
	object, err := unseal(text[:len(text)-1])
	if err != nil {
		return nil, nil, err
	}
	s, err := in.readSignals(object)
	return line, s, err
}

func (m *merger) makeSignals(line []byte, r *mergedRecord) ([]byte, *Signals, error) {
	text, err := m.line(nil, 0, r.part, r.record)
	if err != nil {
		return nil, nil, err
	}
	object, err := unseal(text[:len(text)-1])
	if err != nil {
		return nil, nil, err
	}
	run, err := readRun(object)
	if err != nil {
		return nil, nil, err
	}
	s := run.Signals()
	s.Bytes = r.record.bytes
	line, err = appendSignals(line, &s)
	return line, &s, err
}

func (m *merger) writeScores(w io.Writer) error {
	for i := range m.scores {
		if err := m.copy(w, 2, m.scores[i].part, m.scores[i].line); err != nil {
			return err
		}
	}
	return nil
}
