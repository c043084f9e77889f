package cache

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Tools keeps the answers of pure tools beside those of models. Where all answers
// are to be made anew none is looked up; tools have no mode in which they may not
// be used.
type Tools struct {
	Store *Store
	Mode  Mode // "": On
}

// Recall gives an answer that is kept, and how long it took to come.
func (t Tools) Recall(key [sha256.Size]byte) (content json.RawMessage, took time.Duration, ok bool) {
	if t.Mode == Off || t.Mode == Write {
		return nil, 0, false
	}
	found := t.Store.recent.find(key)
	if found == nil {
		var err error
		if found, err = t.Store.read(key); err != nil {
			return nil, 0, false // it is asked, and its answer replaces what cannot be read
		}
	}
	return json.RawMessage(found.text), found.Duration, found.Provider == toolProvider
}

// toolProvider is how entries tell tools from models.
const toolProvider = "tool"

// Keep stores an answer of the tool of that name.
func (t Tools) Keep(key [sha256.Size]byte, name string, content json.RawMessage, took time.Duration) {
	made := &entry{Head: Head{Provider: toolProvider, Model: name, Finish: "stop", Duration: took}, text: string(content)}
	switch t.Mode {
	case Off:
	case Read, Only:
		t.Store.recent.keep(key, made)
	default:
		t.Store.save(key, made)
	}
}
