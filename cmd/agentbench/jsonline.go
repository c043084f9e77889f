package main

import (
	"bytes"
	"encoding/json"

	"github.com/agentbench/agentbench/reports/page"
)

// jsonLine is a value as a line of JSON that a terminal shows as it is.
func jsonLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encode := json.NewEncoder(&line)
	encode.SetEscapeHTML(false)
	err := encode.Encode(value)
	return page.PlainJSON(line.Bytes()), err
}
