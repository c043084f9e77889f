package cache

import "fmt"

// Mode says what the cache is used for.
type Mode string

// The modes.
const (
	On    Mode = "on"    // answers are looked up; what is missing is called and stored
	Off   Mode = "off"   // every call is made, nothing is stored
	Read  Mode = "read"  // answers are looked up; what is missing is called and shared, not stored
	Write Mode = "write" // every answer is made anew, once, and stored in place of what was there
	Only  Mode = "only"  // answers are looked up; a missing one is an error, and no call is made
)

// Modes are all modes, the default first.
var Modes = []string{string(On), string(Off), string(Read), string(Write), string(Only)}

// ParseMode reads a mode; "" is the default.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case "":
		return On, nil
	case On, Off, Read, Write, Only:
		return mode, nil
	}
	return "", fmt.Errorf("there is no cache mode %q", text)
}
