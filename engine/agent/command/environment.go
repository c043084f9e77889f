package command

import "strings"

// allowed are the variables that programs need to run at all. Keys are not
// among them.
var allowed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true,
	"LANG": true, "LANGUAGE": true, "TZ": true,
	"TMPDIR": true, "TMP": true, "TEMP": true,
	"VIRTUAL_ENV": true, "SYSTEMROOT": true, "PATHEXT": true, "COMSPEC": true,
}

// Environment is the part of an environment that programs may see, as
// "NAME=value".
func Environment(environ []string) []string {
	kept := []string{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if allowed[strings.ToUpper(name)] || strings.HasPrefix(name, "LC_") {
			kept = append(kept, entry)
		}
	}
	return kept
}
