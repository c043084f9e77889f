package offline

import (
	"math"
	"math/rand/v2"

	"github.com/agentbench/agentbench/engine/model"
)

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
