package spec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

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
		return []byte(s.Name + "\n" + string(s.Type)) // no value of a file is without JSON
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

// hashOf identifies what a loop does: its values after presets and parameters, whatever the layout of its file, the contents
// of the files that its programs are given, and the loops that it delegates to.
func (l *Loop) hashOf(leaves []Value) string {
	h := sha256.New()
	var line []byte
	for _, leaf := range leaves {
		if leaf.Value == nil {
			continue // off is the same as absent
		}
		text, isText := leaf.Value.(string)
		if !isText {
			text = fmt.Sprint(leaf.Value)
		}
		line = strconv.AppendQuote(line[:0], leaf.Path) // %q=%T:%q
		line = append(append(append(line, '='), reflect.TypeOf(leaf.Value).String()...), ':')
		h.Write(append(strconv.AppendQuote(line, text), '\n'))
	}
	for _, stage := range l.Stages() {
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				fmt.Fprintf(h, "delegate %q=%s\n", delegate.Name, delegate.Resolved.hash)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// contents identifies the contents of the files that the programs of a loop, and of its delegates, are given; "" without one.
func (l *loader) contents(loop *Loop, file *loopFile) string {
	var text bytes.Buffer
	var words []string
	for _, stage := range loop.Stages() {
		words = append(words, stage.Agent.Command...)
		for _, delegate := range stage.Agent.Delegates {
			if delegate.Resolved != nil {
				text.WriteString(delegate.Resolved.contents)
			}
		}
	}
	for _, t := range loop.tools() {
		words = append(words, t.programArguments()...)
	}
	if e := loop.Evaluate; e != nil && e.Command != nil {
		words = append(words, e.Command.Argv...)
	}
	if w := loop.Workspace; w != nil && w.Setup != nil {
		words = append(words, w.Setup.Command...)
	}
	for _, word := range words {
		l.hashFile(&text, file.folder, word)
	}
	if text.Len() == 0 {
		return ""
	}
	return hashed(text.Bytes())
}

// programArguments are those of the program that the tool is, or that its server is.
func (t *Tool) programArguments() []string {
	if t.MCP != nil {
		return t.MCP.Command
	}
	return t.Command
}

// hashFile adds a program's argument if it is a file, such as a script: beside the loop, or, where that is on disk, elsewhere
// there.
func (l *loader) hashFile(h io.Writer, folder folder, argument string) {
	key := argument
	if folder.copied != "" {
		key = folder.copied + ":" + argument
	}
	sum, known := l.scripts[key]
	if !known && l.opt.Recorded == nil {
		sum = hashOfFile(folder, argument)
		l.scripts[key] = sum
	}
	if sum != "" {
		fmt.Fprintf(h, "file %q=%s\n", argument, sum)
	}
}

// hashOfFile is that of a file's contents, "" of what is none or belongs to the system.
func hashOfFile(folder folder, argument string) string {
	file, err := folder.look(argument, 0)
	if err != nil {
		switch {
		case filepath.IsAbs(argument) && folder.disk != "":
			file, err = openOwn(argument)
		case folder.disk != "":
			file, err = openOwn(folder.disk + string(filepath.Separator) + argument) // not cleaned: .. is that of a link's target
		}
	}
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, info.Size())); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// openOwn opens a regular file on disk that is not the system's, neither by its path nor behind links.
func openOwn(path string) (fs.File, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil:
		return nil, err
	case ofSystem(path), ofSystem(real):
		return nil, errNotRegular
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errNotRegular)
	}
	return os.Open(real)
}

// systemFolders hold what changes with the system, such as interpreters, and what is no contents of files.
var systemFolders = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/opt/homebrew", "/nix/store", "/snap", "/etc", "/proc", "/sys",
	"/System", "/Library", "/Applications", "/Windows", "/Program Files", "/Program Files (x86)",
}

func ofSystem(path string) bool {
	clean := filepath.Clean(path)
	clean = filepath.ToSlash(clean[len(filepath.VolumeName(clean)):])
	return slices.ContainsFunc(systemFolders, func(folder string) bool { return strings.HasPrefix(clean, folder+"/") })
}
