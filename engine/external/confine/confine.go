// Package confine is the first process of a PID namespace: Command.Args is what it is started with. It is a copy of
// the running binary, which starts a program, reaps orphans, and gives the program's exit status. With the
// copy the kernel ends every process of the namespace. Where it can be, the copy gives the program a /proc of its
// own, so that the program does not see the processes outside.
//
// The copy recognizes itself before other packages are initialized, in every binary that has this package in it. So a
// start costs a few milliseconds, and needs no call. That is why the package imports next to nothing, and why
// it is the one place that does something before main.
//
// It is no stable API.
package confine

// Path is where a process finds itself.
const Path = "/proc/self/exe"

// Command is what the copy is started with. Its file 3 is a socket that takes orders.
type Command struct {
	// Hide gives the program a /proc that holds the namespace alone.
	Hide bool
	// Root is set where root is in a user namespace: it drops the capabilities with which root could undo Hide.
	Root bool
	// Whole is set where the namespaces are of our own user namespace, so that the
	// old /proc can be taken away rather than covered.
	Whole bool
	// First is behind which process id the namespace counts, above 0.
	First int
	// Argv is the program by its path, with its arguments; none: only try.
	Argv []string
}

// The orders that the copy takes, a byte each: to stop all processes of its namespace, and to let them run on. It
// answers each with a byte. None of the processes can begin another between the order and the answer.
const (
	Stop     = 's'
	Continue = 'c'
)

// The exit statuses of the copy that are not the program's: what shells use, too.
// A line on standard error says more.
const (
	Failed   = 125 // the namespace could not be set up
	Unusable = 126 // the program could not be started
)
