package scorers

import (
	"context"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the literals of the parser's trees
)

// maxSQL is how many bytes of a statement are read; what is longer is unscored.
const maxSQL = 64 << 10

// isSQL holds where the text is one or several statements of SQL, by the grammar of MySQL in the way that the dialect
// says. Whether there are such tables, and what other servers take, it does not know.
func isSQL(c *compiler) comparison {
	mode := mysql.ModeANSIQuotes | mysql.ModePipesAsConcat
	if c.spec.Dialect == "mysql" {
		mode = mysql.ModeNone
	}
	// A parser serves one text at a time.
	parsers := &sync.Pool{New: func() any {
		made := parser.New()
		made.SetSQLMode(mode)
		return made
	}}
	return func(_ context.Context, s *subject) verdict {
		written := text(s.value)
		if len(written) > maxSQL {
			return unscored("the value has %d bytes; at most %d are read as SQL", len(written), maxSQL)
		}
		p := parsers.Get().(*parser.Parser)
		statements, _, err := p.Parse(written, "", "")
		switch {
		case err != nil:
			// The parser is not given back: what a failure leaves in it is not known.
			return verdict{explanation: short("it is no SQL: "+strings.TrimSpace(err.Error()), maxAnswer)}
		case len(statements) == 0:
			return verdict{explanation: "there is no statement in it"}
		}
		parsers.Put(p)
		return verdict{value: 1}
	}
}
