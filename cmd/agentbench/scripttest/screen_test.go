package scripttest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/creack/pty"
)

// screen runs a command on a terminal and prints what is on its screen in the end:
// screen [-color] COLUMNSxROWS COMMAND [ARG ...]. With -color each change of colour is
// printed, as <1;32>. The exit code is that of the command.
func screen() {
	args := os.Args[1:]
	colored := args[0] == "-color"
	if colored {
		args = args[1:]
	}
	s := terminalScreen{colored: colored}
	if _, err := fmt.Sscanf(args[0], "%dx%d", &s.columns, &s.rows); err != nil {
		panic(err)
	}
	c := exec.Command(args[1], args[2:]...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "COLUMNS" && name != "CI" && name != "TERM" {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: uint16(s.rows), Cols: uint16(s.columns)})
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // how Linux reports that the program has closed its end
		panic(err)
	}
	_ = c.Wait()
	s.write(string(text))
	fmt.Print(s.text())
	os.Exit(c.ProcessState.ExitCode())
}

// A terminalScreen obeys what the program may write to a terminal, and nothing else.
type terminalScreen struct {
	columns, rows int
	colored       bool
	lines         [][]string // cells; with the changes of colour before them
	column        int
	color         string
}

// control is a control sequence: clear to the end of the line, or a colour.
var control = regexp.MustCompile(`^\x1b\[([0-9;]*)([Km])`)

func (s *terminalScreen) write(text string) {
	s.lines = [][]string{nil}
	for text != "" {
		if sequence := control.FindStringSubmatch(text); sequence != nil {
			if last := len(s.lines) - 1; sequence[2] == "K" {
				s.lines[last] = s.lines[last][:min(s.column, len(s.lines[last]))]
			} else if s.colored {
				s.color += "<" + sequence[1] + ">"
			}
			text = text[len(sequence[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\n':
			s.lines = append(s.lines, nil)
		case r == '\r':
			s.column = 0
		case r < ' ':
			panic(fmt.Sprintf("the screen does not know %q", string(r)+text[:min(len(text), 20)]))
		default:
			s.put(string(r))
		}
	}
}

// put writes a cell, on the next line where this one is full.
func (s *terminalScreen) put(cell string) {
	if s.column == s.columns {
		s.lines, s.column = append(s.lines, nil), 0
	}
	line := &s.lines[len(s.lines)-1]
	for len(*line) <= s.column {
		*line = append(*line, " ")
	}
	(*line)[s.column], s.color = s.color+cell, ""
	s.column++
}

// text is what is left on the screen once a prompt has taken its last row.
func (s *terminalScreen) text() string {
	var b strings.Builder
	for _, line := range s.lines[max(0, len(s.lines)-s.rows) : len(s.lines)-1] {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return b.String()
}
