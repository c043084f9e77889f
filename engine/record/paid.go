package record

import (
	"encoding/json"
	"fmt"
)

// Paid is what the records of a folder say was paid, those of all attempts at a
// run together. It reads the records; the manifest of a folder that was closed
// knows it already.
func Paid(dir string) (Usage, error) {
	var sum Usage
	err := visit(dir, recordsFile, func(o *object, err error) error {
		var run struct {
			Volatile struct {
				Paid Usage `json:"paid"`
			} `json:"volatile"`
		}
		if err != nil || json.Unmarshal(o.json, &run) != nil {
			return nil // damage is told by those who need the runs
		}
		sum = sum.Plus(run.Volatile.Paid)
		return nil
	})
	if err != nil {
		return sum, fmt.Errorf("adding up what was paid: %w", err)
	}
	return sum, nil
}
