// Package view serves pages to browse on this machine: it decides who may ask, and which
// address answers what.
//
// Only requests to 127.0.0.1 by the browser that had the link are answered (gate.go). Nothing
// can be changed, and no address names a file: pages have numbers (addresses in server.go).
//
// It is no stable API.
package view

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Source is what a page shows. Its functions are called one at a time.
type Source interface {
	// Write writes the page, which asks for the rest at data/.
	Write(w io.Writer) error
	// Runs are the numbers of all runs, Texts the texts of one, as JSON. The error of a run
	// that is not there, or has no texts, is [ErrNone].
	Runs() ([]byte, error)
	Texts(side int, run string) ([]byte, error)
}

// Page is one of the pages that are served.
type Page struct {
	Name string
	Source
	// State says how far the results have come. It reads little, and is safe for concurrent use.
	State func() State
}

// State is how far results have come.
type State struct {
	Results string   `json:"results"` // changes when what the page shows does
	Status  string   `json:"status"`  // that of the manifest
	Parts   []string `json:"parts"`   // the progress of the command that makes them; none: there is none
}

// ErrNone means that there are no texts of a run.
var ErrNone = errors.New("no texts")

// Server serves pages at Listener's address until it is closed.
type Server struct {
	Pages []Page
	// Compared are the pages of two results, by the numbers of both.
	Compared func(base, newest int) (Page, bool)
	Now      func() time.Time
	// Look waits between two looks at results that are followed.
	Look func() <-chan time.Time

	gate gate
}

// Handler answers at the address of a listener. Link is the address to open, which works once.
func (s *Server) Handler(listener net.Listener) (handler http.Handler, link string) {
	s.gate = newGate(listener.Addr().String())
	return s.gate.guard(s.routes()), "http://" + s.gate.host + "/?token=" + s.gate.token
}
