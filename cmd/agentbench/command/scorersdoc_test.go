package command

import (
	"os"
	"path/filepath"
	"testing"
)

// The examples of scorers that ask others are run. What a server of MySQL says of the statements in them stands in
// mysqlSays.
func TestProgramScorersDocument(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "mysql"), []byte(mysqlSays), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	runDocument(t, "../../../docs/program-scorers.md", 5)
}

const mysqlSays = `#!/bin/sh
case $(cat) in
'SET @s = "SELECT count(*) FROM \"users\""; SET sql_mode = ANSI; PREPARE p FROM @s;')
	echo "ERROR 1146 (42S02) at line 1: Table 'test.users' doesn't exist" >&2; exit 1 ;;
'SET @s = "SHOW TABLES"; SET sql_mode = ANSI; PREPARE p FROM @s;') ;;
'SET @s = "SELECT FROM names"; SET sql_mode = ANSI; PREPARE p FROM @s;')
	echo "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'FROM names' at line 1" >&2; exit 1 ;;
*)
	echo "ERROR 2002 (HY000): Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)" >&2; exit 1 ;;
esac
`

func TestJudgesDocument(t *testing.T) { runDocument(t, "../../../docs/judges.md", 3) }
