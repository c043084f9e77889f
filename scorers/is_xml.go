package scorers

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// isXML holds where the text is a well-formed XML document: one element with all that is in it, and around it at most
// a declaration, a document type, comments and processing instructions. Entities that a document type defines are not
// known, so that nothing can grow.
func isXML(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		written := text(s.value)
		if err := searchable(written); err != nil {
			return unscored("%v", err)
		}
		if err := wellFormed(strings.TrimSpace(written)); err != nil {
			return verdict{explanation: short("it is no XML: "+err.Error(), maxAnswer)}
		}
		return verdict{value: 1}
	}
}

func wellFormed(document string) error {
	decoder := xml.NewDecoder(strings.NewReader(document))
	decoder.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil } // it is decoded already
	var shape xmlShape
	for {
		at := decoder.InputOffset()
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return shape.end()
		case err != nil:
			return err
		}
		if err := shape.take(token, at); err != nil {
			line, _ := decoder.InputPos()
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// xmlShape watches what the decoder lets pass.
type xmlShape struct {
	depth int
	root  bool // it was there
}

func (x *xmlShape) take(token xml.Token, at int64) error {
	switch t := token.(type) {
	case xml.StartElement:
		if x.depth == 0 && x.root {
			return fmt.Errorf("<%s> is a second element at the top", t.Name.Local)
		}
		x.depth++
		x.root = true
		return attributesOnce(t.Attr)
	case xml.EndElement:
		x.depth--
	case xml.CharData:
		if x.depth == 0 && strings.TrimSpace(string(t)) != "" {
			return errors.New("there is text outside the element")
		}
	case xml.Directive:
		if x.root {
			return errors.New("a document type stands before the element")
		}
	case xml.ProcInst:
		if t.Target == "xml" && at > 0 {
			return errors.New("the declaration stands at the beginning")
		}
	}
	return nil
}

func (x *xmlShape) end() error {
	if !x.root {
		return errors.New("there is no element in it")
	}
	return nil
}

func attributesOnce(attributes []xml.Attr) error {
	seen := map[xml.Name]bool{}
	for _, a := range attributes {
		if seen[a.Name] {
			return fmt.Errorf("the attribute %s stands twice", a.Name.Local)
		}
		seen[a.Name] = true
	}
	return nil
}
