package mockserver

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// The answers that are too long are written as they go, so that the server
// itself needs little memory.

const (
	hugeHead = `{"id":"chatcmpl-huge","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`
	hugeTail = `"},"logprobs":null,"finish_reason":"stop"}]}`
)

func huge(x *exchange) {
	head, tail, contentType := hugeHead, hugeTail, typeJSON
	if x.request.Stream {
		head, tail, contentType = "data: "+strings.Replace(hugeHead, `"message"`, `"delta"`, 1), hugeTail+"\n\ndata: [DONE]\n\n", typeStream
	}
	x.begin(http.StatusOK, map[string]string{"Content-Type": contentType}, -1)
	x.fill(x.w, head, tail)
}

func hugeError(x *exchange) {
	x.begin(http.StatusInternalServerError, map[string]string{"Content-Type": typeJSON}, -1)
	x.fill(x.w, `{"error":{"type":"server_error","message":"`, `"}}`)
}

func gzipBomb(x *exchange) {
	x.begin(http.StatusOK, map[string]string{"Content-Type": typeJSON, "Content-Encoding": "gzip"}, -1)
	packed := gzip.NewWriter(x.w)
	x.fill(packed, hugeHead, hugeTail)
	_ = packed.Close() // the client may be gone
}

// hugeHeader is written past net/http, as one line.
func hugeHeader(x *exchange) {
	conn, buffered, err := http.NewResponseController(x.w).Hijack()
	if err != nil { // HTTP/2 has no such lines
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	x.status = http.StatusOK
	x.fill(buffered, "HTTP/1.1 200 OK\r\nX-Huge: ", "\r\nContent-Length: 2\r\n\r\n{}")
	_ = buffered.Flush() // the client may be gone
}

// fill writes the fault's size in letters between head and tail, until the
// client goes away.
func (x *exchange) fill(w io.Writer, head, tail string) {
	if _, err := io.WriteString(w, head); err != nil {
		return
	}
	letters := bytes.Repeat([]byte("a"), 32<<10)
	for left := x.fault.Size; left > 0; left -= int64(len(letters)) {
		if _, err := w.Write(letters[:min(left, int64(len(letters)))]); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, tail) // the client may be gone
}
