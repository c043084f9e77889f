// Package simulate decides what a simulated model replies: a seeded stand-in
// whose replies get better from call to call, for demonstrations, capacity
// planning and load tests. Nothing it says is about any real model.
//
// All chance is drawn from the suite's seed, the model's name, what is sent and
// which draw it is, never from the order in which calls arrive.

package offline

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// DefaultQuality is what a model has that declares none.
var DefaultQuality = spec.Quality{Start: 0.5, Limit: 0.9, Rate: 0.5, Spread: 0.1, Noise: 0.05}

// Model is a simulated model. Its requests must say what task they are Of where
// Reply reads the task.
type Simulated struct {
	Name    string // in the suite; equal settings under another name are another model
	Seed    int64  // of the suite
	Quality spec.Quality
	Errors  float64      // share of calls that fail with a server error
	Reply   *spec.Prompt // nil: a JSON object with quality, confidence and answer
	Time    Call
}

// New makes a declared model. The zero quality is DefaultQuality.
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
