package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options say how a page is written. The zero value writes all tables to a
// terminal of 80 columns, without colour.
type Options struct {
	// Format is one of Formats; "" is terminal.
	Format string
	Width  int  // in terminal columns; 0 means 80
	Color  bool // on a terminal
	// Tables are the names of the tables to write, in their order; none means
	// all of them, and the first one in CSV, which holds one table only. JSON
	// and JUnit always hold everything.
	Tables []string
}

func (o *Options) isTerminal() bool { return o.Format == "" || o.Format == "terminal" }

// Formats are the formats that there are.
var Formats = []string{"terminal", "markdown", "csv", "json", "html", "junit", "github", "comment"}

// Write writes a page in one of the formats.
func Write(w io.Writer, p Page, options Options) error {
	write, ok := map[string]func(io.Writer, Page, Options) error{
		"": writeTerminal, "terminal": writeTerminal, "markdown": writeMarkdown, "csv": writeCSV, "json": writeJSON,
		"html": writeHTML, "junit": writeJUnit, "github": writeGitHub, "comment": writeComment,
	}[options.Format]
	if !ok {
		return fmt.Errorf("there is no format %q: the formats are %s", options.Format, strings.Join(Formats, ", "))
	}
	names := namesOf(p.Tables(People))
	for _, name := range options.Tables {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no table %q: the tables are %s", name, strings.Join(names, ", "))
		}
	}
	if err := write(w, p, options); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
