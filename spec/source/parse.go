package source

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// What a file may hold. A suite with 10,000 inline tasks of a dozen values each has about 120,000 nodes.
const (
	maxBytes   = 16 << 20
	maxNodes   = 500_000 // after expansion of aliases
	maxAliases = 1_000
	maxDepth   = 64
	maxKeys    = 4_096 // of one mapping
)

// Parse reads the one document of a file. The node is nil when the text is no YAML or exceeds a limit;
// faults such as a key that stands twice leave a tree that can be decoded, so that all faults come together.
func Parse(file *File) (*Node, Faults) {
	if faults := file.checkText(); faults != nil {
		return nil, faults
	}
	if faults := file.checkCrowd(); faults != nil {
		return nil, faults
	}
	root, faults := file.document()
	if faults != nil {
		return nil, faults
	}
	if faults := checkLimits(file, root); faults != nil {
		return nil, faults
	}
	c := converter{file: file}
	n := c.node(root)
	c.faults.Sort()
	return n, c.faults
}

// document returns the root value of the only document.
func (f *File) document() (*yaml.Node, Faults) {
	decoder := yaml.NewDecoder(strings.NewReader(f.text))
	first, err := nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		return nil, Faults{{File: f, Pos: Pos{1, 1}, What: "the file is empty"}}
	}
	if err != nil {
		return nil, Faults{f.syntaxFault(err)}
	}
	_, err = nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		return first.Content[0], nil
	}
	if line := f.secondDocument(); line > 0 {
		return nil, Faults{{File: f, Pos: Pos{line, 1}, What: "a second document starts here",
			Hint: `keep one document a file; delete the "---" or split the file`}}
	}
	return nil, Faults{f.syntaxFault(err)}
}

// nextDocument turns a panic of yaml.v3 into an error: its parser is archived, our users' files are not.
func nextDocument(decoder *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: cannot be parsed: %v", r)
		}
	}()
	n = &yaml.Node{}
	return n, decoder.Decode(n)
}

// secondDocument is the line of the "---" that starts it, 0 when there is none.
func (f *File) secondDocument() int {
	started := false
	for line := 1; line <= f.Lines(); line++ {
		text := f.Line(line)
		switch {
		case isMarker(text, "---") && started:
			return line
		case !isBlank(text) && text[0] != '#':
			started = true
		}
	}
	return 0
}

func isMarker(line, marker string) bool {
	rest, found := strings.CutPrefix(line, marker)
	return found && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}
