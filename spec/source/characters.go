package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkText refuses what yaml.v3 would report without a place, or would read as something else.
func (f *File) checkText() Faults {
	start := Fault{File: f, Pos: Pos{1, 1}}
	switch {
	case len(f.text) > maxBytes:
		start.What = fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(f.text), maxBytes)
		start.Hint = largeLists
	case strings.HasPrefix(f.text, "\xff\xfe"), strings.HasPrefix(f.text, "\xfe\xff"):
		start.What, start.Hint = "the file is UTF-16", "save it as UTF-8"
	default:
		return f.checkCharacters()
	}
	return Faults{start}
}

// checkCharacters finds the first character that YAML does not allow anywhere.
func (f *File) checkCharacters() Faults {
	if fault, found := f.directive(); found {
		return Faults{fault}
	}
	for i := 0; i < len(f.text); {
		if b := f.text[i]; b >= ' ' && b < 0x7f || b == '\n' || b == '\t' {
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(f.text[i:])
		if what, hint := refused(r, width, f.text[i]); what != "" {
			return Faults{{File: f, Pos: f.posOf(i), What: what, Hint: hint}}
		}
		i += width
	}
	return nil
}

func refused(r rune, width int, b byte) (what, hint string) {
	switch {
	case r == utf8.RuneError && width == 1:
		return fmt.Sprintf("the byte 0x%02X is not UTF-8", b), "save the file as UTF-8"
	case r == 0:
		return "the NUL character is not allowed", "save the file as UTF-8 text, not as UTF-16 or binary data"
	case r == 0xFEFF:
		return "a byte order mark is allowed only at the start", "delete it"
	case r == '\r' || r == 0x85 || r > 0x9f && r < 0xfffe || r > 0xffff:
		return "", ""
	}
	return fmt.Sprintf("the character U+%04X is not allowed", r), fmt.Sprintf(`delete it, or write "\u%04X" in double quotes`, r)
}

// directive finds a line such as "%YAML 1.2" before the document.
func (f *File) directive() (Fault, bool) {
	for line := 1; line <= f.Lines(); line++ {
		text := f.Line(line)
		if isBlank(text) || text[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(text, " ")
		return Fault{File: f, Pos: Pos{line, 1}, Len: runes(name), What: "directives such as " + name + " are not supported",
			Hint: "delete this line"}, text[0] == '%'
	}
	return Fault{}, false
}

// posOf is the place of the byte at offset.
func (f *File) posOf(offset int) Pos {
	line := len(f.starts)
	for line > 1 && f.starts[line-1] > offset {
		line--
	}
	return Pos{line, 1 + runes(f.text[f.starts[line-1]:offset])}
}
