package model

import (
	"testing"

	"pgregory.net/rapid"
)

func number(n float64) *float64 { return &n }

// What is sent decides the hash; which draw it is does not.
func TestHashOfRequests(t *testing.T) {
	base := func() *Request {
		return &Request{Messages: []Message{{Role: "system", Text: "a"}, {Role: "user", Text: "b"}}, Draw: Draw{Task: "x"}}
	}
	want := base().Hash("m")
	if len(want) != 16 {
		t.Fatalf("hash %q has not 16 digits", want)
	}
	same := base()
	same.Draw = Draw{Task: "y", Trial: 2, Call: 3}
	if same.Hash("m") != want {
		t.Error("the draw changes the hash")
	}
	seed := int64(0)
	for name, change := range map[string]func(*Request){
		"text":            func(r *Request) { r.Messages[1].Text = "c" },
		"role":            func(r *Request) { r.Messages[0].Role = "user" },
		"border":          func(r *Request) { r.Messages[0].Text, r.Messages[1].Text = "ab", "" },
		"fewer":           func(r *Request) { r.Messages = r.Messages[1:] },
		"temperature 0":   func(r *Request) { r.Temperature = number(0) },
		"top_p 0":         func(r *Request) { r.TopP = number(0) },
		"seed 0":          func(r *Request) { r.Seed = &seed },
		"maximum":         func(r *Request) { r.MaxOutputTokens = 1 },
		"JSON":            func(r *Request) { r.JSON = true },
		"temperature 0.5": func(r *Request) { r.Temperature = number(0.5) },
	} {
		changed := base()
		change(changed)
		if changed.Hash("m") == want {
			t.Errorf("%s does not change the hash", name)
		}
	}
	if base().Hash("n") == want {
		t.Error("the model's name does not change the hash")
	}
}

func TestDifferentSettingsHaveDifferentHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() *Request {
			r := &Request{MaxOutputTokens: rapid.IntRange(0, 2).Draw(t, "max")}
			if rapid.Bool().Draw(t, "has temperature") {
				r.Temperature = number(rapid.Float64Range(0, 2).Draw(t, "temperature"))
			}
			if rapid.Bool().Draw(t, "has top_p") {
				r.TopP = number(rapid.Float64Range(0, 2).Draw(t, "top_p"))
			}
			return r
		}
		a, b := draw(), draw()
		same := a.MaxOutputTokens == b.MaxOutputTokens && equal(a.Temperature, b.Temperature) && equal(a.TopP, b.TopP)
		if same != (a.Hash("m") == b.Hash("m")) {
			t.Fatalf("same settings: %v, same hash: %v", same, !same)
		}
	})
}

func equal(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

func TestEstimateTokens(t *testing.T) {
	for bytes, want := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 2, 400: 100} {
		if got := EstimateTokens(bytes); got != want {
			t.Errorf("EstimateTokens(%d) = %d, want %d", bytes, got, want)
		}
	}
}
