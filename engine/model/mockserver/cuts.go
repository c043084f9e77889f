package mockserver

import "time"

// The forms in which a stream is cut. A whole answer breaks off inside instead,
// whichever it is: half of the promised length comes.

func cut(_ *exchange, p *payload) { p.keepHalf() }

func cutFrame(x *exchange, p *payload) {
	p.keepHalf()
	if x.request.Stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = (*last)[:len(*last)/2]
	}
}

func cutReset(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = reset
}

func cutEvent(x *exchange, p *payload) { p.cutWith(x, "event: error\ndata: "+serverError+"\n\n") }

func cutError(x *exchange, p *payload) { p.cutWith(x, "data: "+serverError+"\n\n") }

func (p *payload) cutWith(x *exchange, last string) {
	p.keepHalf()
	if x.request.Stream {
		p.pieces = append(p.pieces, []byte(last))
	}
}

func cutJSON(x *exchange, p *payload) {
	if !x.request.Stream {
		p.keepHalf()
		return
	}
	*p = *whole(x.made)
}

// What takes its time.

func stalled(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = stall
}

func slow(x *exchange) {
	if x.wait(x.fault.By) {
		x.send(x.payload(x.completion()))
	}
}

// trickle sends single bytes.
func trickle(x *exchange, p *payload) {
	var bytes [][]byte
	for _, piece := range p.pieces {
		for i := range piece {
			bytes = append(bytes, piece[i:i+1])
		}
	}
	p.pieces, p.pause = bytes, max(x.fault.By, time.Nanosecond)
}
