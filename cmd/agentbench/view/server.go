package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strconv"
	"time"
)

// routes are the addresses:
//
//	/                       the page, or a list of all pages
//	/N/ and /diff/N/M/      a page
//	/N/data/runs            the numbers of its runs
//	/N/data/run?side=&run=  the texts of one
//	/N/data/state?seen=     how far the results have come, once that is news
func (s *Server) routes() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc("/{$}", s.front)
	all.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }) // browsers ask for it by themselves
	for _, at := range []string{"/{page}/", "/diff/{base}/{page}/"} {
		for path, answer := range map[string]func(*Page, http.ResponseWriter, *http.Request){
			"{$}": s.page, "data/runs": s.runs, "data/run": s.texts, "data/state": s.state,
		} {
			all.HandleFunc(at+path, func(w http.ResponseWriter, r *http.Request) {
				if page, known := s.named(r); known {
					answer(&page, w, r)
				} else {
					http.NotFound(w, r)
				}
			})
		}
	}
	return all
}

// named is the page that an address names.
func (s *Server) named(r *http.Request) (Page, bool) {
	number := func(of string) int {
		n, err := strconv.Atoi(r.PathValue(of))
		if err != nil || n < 1 || n > len(s.Pages) || strconv.Itoa(n) != r.PathValue(of) {
			return 0
		}
		return n
	}
	newest := number("page")
	switch base := number("base"); {
	case newest == 0:
		return Page{}, false
	case r.PathValue("base") == "":
		return s.Pages[newest-1], true
	case base == 0 || base == newest:
		return Page{}, false
	default:
		return s.Compared(base-1, newest-1)
	}
}

// front leads to the only page, or lists all.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	if len(s.Pages) == 1 {
		http.Redirect(w, r, "/1/", http.StatusSeeOther)
		return
	}
	var list bytes.Buffer
	list.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>agentbench: results</title>
</head>
<body>
<h1>Results</h1>
<ol>
`)
	for i, page := range s.Pages {
		fmt.Fprintf(&list, `<li><a href="/%d/">%s</a> %s`, i+1, html.EscapeString(page.Name), html.EscapeString(page.State().Status))
		for other, base := range s.Pages {
			if other != i {
				fmt.Fprintf(&list, ` · <a href="/diff/%d/%d/">compared with %s</a>`, other+1, i+1, html.EscapeString(base.Name))
			}
		}
		list.WriteString("</li>\n")
	}
	list.WriteString("</ol>\n</body>\n</html>\n")
	write(w, "text/html; charset=utf-8", list.Bytes(), nil)
}

func (s *Server) page(of *Page, w http.ResponseWriter, _ *http.Request) {
	var document bytes.Buffer
	err := of.Write(&document)
	write(w, "text/html; charset=utf-8", document.Bytes(), err)
}

func (s *Server) runs(of *Page, w http.ResponseWriter, _ *http.Request) {
	text, err := of.Runs()
	write(w, "application/json", text, err)
}

func (s *Server) texts(of *Page, w http.ResponseWriter, r *http.Request) {
	side, err := strconv.Atoi(r.FormValue("side"))
	if err != nil {
		http.Error(w, "side is a number", http.StatusBadRequest)
		return
	}
	text, err := of.Texts(side, r.FormValue("run"))
	write(w, "application/json", text, err)
}

// longest is how long a question for news may stay open.
const longest = 25 * time.Second

// state answers when there is news, or none for a while.
func (s *Server) state(of *Page, w http.ResponseWriter, r *http.Request) {
	until := s.Now().Add(longest)
	for {
		now := of.State()
		text, err := json.Marshal(now)
		if string(text) != r.FormValue("seen") || err != nil || !s.Now().Before(until) {
			write(w, "application/json", text, err)
			return
		}
		select {
		case <-s.Look():
		case <-r.Context().Done():
			return
		}
	}
}

// write answers with a text, or tells why there is none.
func write(w http.ResponseWriter, kind string, text []byte, err error) {
	switch {
	case errors.Is(err, ErrNone):
		http.Error(w, "no texts of this run", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", kind)
		_, _ = io.Copy(w, bytes.NewReader(text))
	}
}
