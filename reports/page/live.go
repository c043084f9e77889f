package page

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
)

// Live is what makes an HTML page one that can be browsed: a script, the style of what
// the script shows, and its data. The page without them is the same page.
type Live struct {
	Script, Style string
	// Data writes the data as inert elements. They are written as they are.
	Data func(w io.Writer) error
	// Served lets the script ask the server of the page for data.
	Served bool
}

// style is the element in the head.
func (l *Live) style(w htmlWriter) {
	if l != nil {
		_, _ = w.WriteString("<style>" + l.Style + "</style>\n")
	}
}

// end is what stands before the end of the body. Data goes to the writer behind w.
func (l *Live) end(w htmlWriter, to io.Writer) error {
	if l == nil {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := l.Data(to); err != nil {
		return err
	}
	_, _ = w.WriteString("<script>" + l.Script + "</script>\n")
	return nil
}

// policy lets the script run and its style hold, by their hashes, and no text become
// markup or code.
func (l *Live) policy() (scripts, styles string) {
	if l == nil {
		return "", ""
	}
	scripts = "; script-src " + hashSource(l.Script) + "; require-trusted-types-for 'script'; trusted-types 'none'"
	if l.Served {
		scripts += "; connect-src 'self'"
	}
	return scripts, " " + hashSource(l.Style)
}

// hashSource is how a policy names a text.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
