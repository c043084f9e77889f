// Package confine decides what a program is started behind that must not see the
// processes outside: a copy of ourselves that is the first process of a PID
// namespace, and of a mount namespace with a /proc of its own.
//
// The copy recognizes itself before anything else is initialized, in every binary
// that has this package in it. So a start costs a few milliseconds, and nobody has
// to call it. That is why the package imports next to nothing, and why it is the one
// place that does something before main.
//
// It is no stable API.
package confine

// Command is what a confined program is started with.
type Command struct {
	// Hide gives the program a /proc that holds the namespace alone.
	Hide bool
	// Root drops what would let root in a user namespace undo that. Nobody else has
	// it.
	Root bool
	// Whole is set where the namespaces are of our own user namespace, so that the
	// old /proc can be taken away rather than covered.
	Whole bool
	// First is behind which process id the namespace counts.
	First int
	// Argv is the program by its path, with its arguments; none: only try.
	Argv []string
}

// The exit statuses of the copy that are not the program's: what shells use, too.
// A line on standard error says more.
const (
	Failed   = 125 // the namespace could not be set up
	Unusable = 126 // the program could not be started
)
