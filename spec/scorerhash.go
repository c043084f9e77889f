package spec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/agentbench/agentbench/spec/expr"
)

// Hash identifies what the scorer does, whatever the layout of its file: what it says itself, and what it names: the
// file of a schema, the files that its program is given, the scorers that are its parts, the models that it asks
// (provider, name and address) and the configuration that it compares with. It is "" for one that comes from no file.
func (s *Scorer) Hash() string {
	if s.hash == "" && s.Node != nil {
		return hashed(s.plainText())
	}
	return s.hash
}

// plainText is what the scorer says itself.
func (s *Scorer) plainText() []byte {
	text, err := expr.AppendJSON(nil, valueOf(s.Node.Plain()))
	if err != nil {
		return []byte(s.Name + "\n" + s.Type) // no value of a file is without JSON
	}
	return text
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// hashScorers gives scorers the hashes of what they say and name.
func (l *loader) hashScorers(s *Suite) {
	h := scorerHashes{loader: l, suite: s}
	for scorer := range s.AllScorers() {
		h.hash(scorer)
	}
}

type scorerHashes struct {
	*loader
	suite *Suite
	open  []*Scorer // that are being hashed; a set that is a part of itself is a fault
}

func (h *scorerHashes) hash(s *Scorer) string {
	if s.hash != "" || s.Node == nil || slices.Contains(h.open, s) {
		return s.hash
	}
	h.open = append(h.open, s)
	text := bytes.NewBuffer(s.plainText())
	h.named(text, s)
	s.hash = hashed(text.Bytes())
	h.open = h.open[:len(h.open)-1]
	return s.hash
}

// named writes what a scorer names. A scorer that names nothing has the hash of what it says.
func (h *scorerHashes) named(to io.Writer, s *Scorer) {
	if s.SchemaFile != "" {
		fmt.Fprintf(to, "\nschema %s", s.Schema)
	}
	for _, argument := range s.Command {
		h.hashFile(to, h.doc.folder, argument)
	}
	for _, n := range s.modelNodes() {
		if m, ok := h.suite.Models.Get(n.Text); ok {
			fmt.Fprintf(to, "\nmodel %q %q %q %q", n.Text, m.Provider, m.Name, m.BaseURL)
		}
	}
	if s.Type == "pairwise" {
		fmt.Fprintf(to, "\nagainst %q", cmp.Or(s.Against, h.suite.Baseline))
	}
	for i := range s.Parts {
		if part := s.Parts[i].of(h.suite.Scorers); part != nil {
			fmt.Fprintf(to, "\npart %q %s", part.Name, h.hash(part))
		}
	}
}
