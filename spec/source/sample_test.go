package source

import (
	"time"
)

// sample has a field of every kind that Decode knows.
type sample struct {
	Here      *Node              `yaml:",here"`
	Name      string             `yaml:"name" need:"required" minlen:"1" doc:"what it is called"`
	Reply     string             `yaml:"reply" enum:"text|json"`
	Max       int                `yaml:"max_iterations" min:"1" max:"100"`
	Seed      int64              `yaml:"seed"`
	Threshold float64            `yaml:"threshold" min:"0" max:"1"`
	Price     float64            `yaml:"price" above:"0"`
	Strict    bool               `yaml:"strict"`
	Timeout   time.Duration      `yaml:"timeout" above:"0s"`
	Wait      time.Duration      `yaml:"wait"`
	Phase     *phase             `yaml:"phase"`
	Tags      []string           `yaml:"tags" minlen:"1"`
	Limits    []int              `yaml:"limits" min:"0"`
	Phases    []phase            `yaml:"phases"`
	Env       map[string]string  `yaml:"env"`
	Vars      any                `yaml:"vars"`
	Raw       *Node              `yaml:"raw"`
	Patience  Maybe[int]         `yaml:"patience" min:"1"`
	After     Maybe[*phase]      `yaml:"after"`
	Command   words              `yaml:"command"`
	Weights   map[string]float64 `yaml:"weights" above:"0" minlen:"1"`
	shared    `yaml:",inline"`
	Ignored   string
}

type shared struct {
	Note string `yaml:"note"`
}

type phase struct {
	Name  string  `yaml:"name" need:"required"`
	Max   int     `yaml:"max_iterations"`
	Inner []phase `yaml:"inner"`
}

// words is a union: text or a list of texts.
type words []string

func (w *words) DecodeNode(n *Node, d *Decoder) {
	if n.Kind == String {
		*w = words{n.Text}
		return
	}
	d.Decode(n, (*[]string)(w))
}

func (*words) JSONSchema(g *Generator) map[string]any {
	return map[string]any{"anyOf": []any{g.Of(""), g.Of([]string{})}}
}

// read parses and decodes a text into a sample.
func read(text string) (sample, Faults) {
	var s sample
	n, faults := Parse(NewFile("f", []byte(text)))
	if n != nil {
		faults = append(faults, Decode(n, &s)...)
	}
	return s, faults
}

// inShort is what a table of bad inputs wants: "line:col: what; hint", one fault a line.
func inShort(faults Faults) string {
	var text string
	for i, f := range faults {
		if i > 0 {
			text += "\n"
		}
		text += f.Error()[len("f:"):]
		if f.Hint != "" {
			text += "; " + f.Hint
		}
	}
	return text
}
