package offline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// A simulated model is a seeded stand-in whose replies get better from call to call, for demonstrations, capacity
// planning and load tests. Nothing it says is about any real model.
//
// All chance is drawn from the suite's seed, the model's name, what is sent and
// which draw it is, never from the order in which calls arrive.

// DefaultQuality is what a model has that declares none.
var DefaultQuality = spec.Quality{Start: 0.5, Limit: 0.9, Rate: 0.5, Spread: 0.1, Noise: 0.05}

// Simulated is a simulated model. Its requests must say what task they are Of where
// Reply reads the task.
type Simulated struct {
	Name    string // in the suite; equal settings under another name are another model
	Seed    int64  // of the suite
	Quality spec.Quality
	Errors  float64      // share of calls that fail with a server error
	Reply   *spec.Prompt // nil: a JSON object with quality, confidence and answer
	Time    Call
}

// Simulate makes a declared model. The zero quality is DefaultQuality.
func Simulate(name string, seed int64, m *spec.Model) *Simulated {
	s := &Simulated{Name: name, Seed: seed, Quality: m.Quality, Errors: m.Errors, Reply: m.Reply, Time: CallOf(m)}
	if s.Quality == (spec.Quality{}) {
		s.Quality = DefaultQuality
	}
	return s
}

// Call replies as well as the draw has it.
func (m *Simulated) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	chance := m.chance(request)
	took := m.Time.Duration(chance)
	failed := chance.Float64() < m.Errors
	if err := m.Time.Pass(ctx, took); err != nil {
		return nil, err
	}
	if failed {
		return nil, model.Fail(record.Server, "a simulated server error", took)
	}
	text, err := m.render(ctx, m.reply(request, chance))
	if err != nil {
		return nil, err
	}
	made := &model.Reply{Text: text, Finish: "stop", Duration: took}
	made.Usage = m.Time.Usage(request, made, chance)
	return made, nil
}

// chance belongs to one call: to what is sent and to which draw it is.
func (m *Simulated) chance(request *model.Request) *rand.Rand {
	sum, d := request.Sum(m.Name), &request.Draw
	return Draws(m.Seed, []string{"simulate", m.Name, d.Task},
		uint64(d.Trial), uint64(d.Call), binary.LittleEndian.Uint64(sum[:8]))
}

func (m *Simulated) render(ctx context.Context, r *reply) (string, error) {
	if m.Reply == nil {
		return r.json()
	}
	text, err := m.Reply.Render(ctx, r)
	if err != nil {
		message := "rendering the reply of the simulated model " + m.Name + ": " + err.Error()
		return "", &record.Error{Class: record.Expression, Message: message}
	}
	return text, nil
}

// reply draws everything that the text of a reply may tell.
func (m *Simulated) reply(request *model.Request, chance *rand.Rand) *reply {
	d := &request.Draw
	mean := m.mean(d.Call) + m.Quality.Spread*ease(m.Seed, d.Task)
	r := &reply{
		request: request,
		quality: clamp(mean + m.Quality.Noise*chance.NormFloat64()),
		draw:    int64(chance.IntN(1_000_000)),
	}
	r.confidence = clamp(r.quality + m.Quality.Noise*chance.NormFloat64())
	r.correct = m.luck(d) < r.quality
	if d.Of != nil {
		r.truth = d.Of.Field("target")
	}
	r.answer = r.truth
	if !r.correct {
		r.answer = wrong(r.truth, r.draw)
	}
	return r
}

// mean is the quality of the call after so many others: it starts at start and
// covers a share `rate` of what is left to limit with every call.
func (m *Simulated) mean(calls int) float64 {
	q := &m.Quality
	return q.Start + (q.Limit-q.Start)*(1-math.Pow(1-q.Rate, float64(calls)))
}

// ease says how much easier than others a task is, in standard deviations: the
// same for all models of a suite.
func ease(seed int64, task string) float64 {
	return Draws(seed, []string{"ease", task}).NormFloat64()
}

// luck is uniform in [0, 1) and drawn once for a trial of a task, so that a
// reply that gets better does not turn wrong by chance.
func (m *Simulated) luck(d *model.Draw) float64 {
	return Draws(m.Seed, []string{"luck", m.Name, d.Task}, uint64(d.Trial)).Float64()
}

// clamp keeps a quality within 0 and 1, in steps of 0.0001 that every machine
// computes alike.
func clamp(quality float64) float64 {
	return math.Round(max(0, min(1, quality))*1e4) / 1e4
}

// wrong is near the truth and different from it.
func wrong(truth any, draw int64) any {
	switch t := truth.(type) {
	case float64:
		return t + 1 + float64(draw%9)
	case int64:
		return t + 1 + draw%9
	case bool:
		return !t
	case string:
		return "not " + t
	}
	return nil
}

// reply is what was drawn for one call. It is the scope of the reply's
// template: see expr.Simulated.
type reply struct {
	request             *model.Request
	quality, confidence float64
	correct             bool
	truth, answer       any
	draw                int64
}

// Lookup gives the template its variables.
func (r *reply) Lookup(name string) (any, bool) {
	switch name {
	case "quality":
		return r.quality, true
	case "confidence":
		return r.confidence, true
	case "correct":
		return r.correct, true
	case "truth":
		return r.truth, true
	case "answer":
		return r.answer, true
	case "draw":
		return r.draw, true
	case "task":
		return withoutTarget{&r.request.Draw}, true
	case "iteration":
		return int64(r.request.Draw.Iteration), true
	case "prompt":
		if n := len(r.request.Messages); n > 0 {
			return r.request.Messages[n-1].Text, true
		}
		return "", true
	}
	return nil, false
}

// json is the reply of a model that declares none.
func (r *reply) json() (string, error) {
	o := expr.NewObject(3)
	o.Set("quality", r.quality)
	o.Set("confidence", r.confidence)
	o.Set("answer", r.answer)
	text, err := expr.AppendJSON(make([]byte, 0, 96), o)
	if err != nil {
		return "", fmt.Errorf("writing a simulated reply: %w", err)
	}
	return string(text), nil
}

// withoutTarget is a task as a reply's template sees it.
type withoutTarget struct{ *model.Draw }

func (t withoutTarget) Field(name string) any {
	switch {
	case name == "id":
		return t.Task
	case name == "target" || t.Of == nil:
		return nil
	}
	return t.Of.Field(name)
}
