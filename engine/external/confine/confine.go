// Package confine decides what a program is started behind: a copy of ourselves that
// ends all of the program's processes when the program ends, and when we do. Where it
// can be, the copy is the first process of a PID namespace, and of a mount namespace
// with a /proc of its own, so that the program does not see the processes outside.
// Elsewhere it is what the program's orphans are handed to.
//
// The copy recognizes itself before anything else is initialized, in every binary
// that has this package in it. So a start costs a few milliseconds, and nobody has
// to call it. That is why the package imports next to nothing, and why it is the one
// place that does something before main.
//
// It is no stable API.
package confine

// Command is what a confined program is started with. The copy's file 3 is a socket, the
// other end of which is ours: the copy sends a byte once the program is started, and
// answers Stop by a byte. When our end closes, whatever the reason, the program's
// processes are killed.
type Command struct {
	// Hide gives the program a /proc that holds the namespace alone.
	Hide bool
	// Root drops what would let root in a user namespace undo that. Nobody else has
	// it.
	Root bool
	// Whole is set where the namespaces are of our own user namespace, so that the
	// old /proc can be taken away rather than covered.
	Whole bool
	// First is behind which process id the namespace counts; 0: there is no namespace.
	First int
	// Group is the kind of control group that the program is put into. The copy itself
	// stays outside, so that it acts while the program stands still. Its files 4 and 5
	// are the lists of processes of the group and of the one it was in; with a group
	// of version 1, file 6 is its state, else what kills it.
	Group Group
	// Last is a command that runs when the program is to end, and where a signal has
	// ended it, before what is left of it is killed; none: nothing.
	Last []string
	// Argv is the program by its path, with its arguments; none: only try.
	Argv []string
}

// Group is a kind of control group.
type Group int

// The kinds of control groups: none, one of the freezer of version 1, one of version 2.
const (
	NoGroup Group = iota
	GroupV1
	GroupV2
)

// Stop lets the copy stop all processes of its namespace at once, so that none of them
// can begin another.
const Stop = 's'

// The exit statuses of the copy that are not the program's: what shells use, too.
// A line on standard error says more.
const (
	Failed   = 125 // the namespace could not be set up
	Unusable = 126 // the program could not be started
)
