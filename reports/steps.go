package reports

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// StepPoint is what a configuration would have given had a limit of steps ended every
// run: what it had when the first call beyond the limit arrived, without the time of an
// evaluation after that. Runs that made no such call keep what they have. All are means per run.
type StepPoint struct {
	Step    int           `json:"step" col:"stop\nat"`
	Reached page.Estimate `json:"reached" col:"reached,percent"` // share of the runs that made so many steps
	// Score is the mean over tasks of the primary score, where it is known of all runs: that of the states in which
	// their workspaces were. Bounds are its ends where it is known of some, and the others may have any.
	Score    page.Estimate `json:"score"`
	Bounds   page.Range    `json:"score_bounds"`
	Unscored int           `json:"unscored"` // runs of which it is not known
	Lost     int           `json:"lost"`     // runs that are a success and would be none
	// Cost and Tokens are those of the calls that had begun, to their end.
	Cost    page.Estimate `json:"cost_usd" col:"cost,dollars"`
	Tokens  page.Estimate `json:"tokens" col:"tokens,whole"`
	Seconds page.Estimate `json:"latency_s" col:"latency,seconds"`
}

// spentUntil is what a run had spent when a step of its program arrived.
type spentUntil struct {
	cost    record.Money
	tokens  int64
	elapsed time.Duration
}

// keepProgram keeps what the run added last had spent at each step of its program: at
// index 0 when the second one arrived, at the end in all.
func (r *runs) keepProgram(s *record.Run) {
	var arrived []time.Duration
	kept := false
	for i := range s.Iterations {
		for _, c := range s.Iterations[i].Calls {
			if c.Step > 0 {
				arrived, kept = append(arrived, c.Arrived), kept || c.Tree != ""
			}
		}
	}
	if len(arrived) == 0 {
		return
	}
	slices.Sort(arrived)
	at, last := int32(len(r.all)-1), &r.all[len(r.all)-1]
	points := make([]spentUntil, 0, len(arrived))
	for _, until := range arrived[1:] {
		points = append(points, spentBy(s, until))
	}
	points = append(points, spentUntil{last.cost, last.tokens, last.elapsed})
	if r.programs == nil {
		r.programs = map[int32][]spentUntil{}
	}
	r.programs[at] = points
	if kept {
		if r.kept == nil {
			r.kept = map[int32]map[int]float64{}
		}
		r.kept[at] = nil
	}
}

// snapshot keeps what the run that a limit ends with a state is worth, by the version of the
// primary scorer that judged the run.
func (c *collector) snapshot(s *record.Snapshot) {
	at := c.runs.find(s.Run)
	if at < 0 || len(c.manifest.Scorers) == 0 {
		return
	}
	found := math.NaN()
	column := c.scorer(c.manifest.Scorers[0])
	if score := s.Score(column.name); score != nil && score.Unscored == "" && int(at) < len(column.made) && column.made[at] == column.version(score.Scorer) {
		found = score.Value
	}
	if c.runs.kept[at] == nil {
		if c.runs.kept == nil {
			c.runs.kept = map[int32]map[int]float64{}
		}
		c.runs.kept[at] = map[int]float64{}
	}
	for _, step := range s.Steps {
		c.runs.kept[at][step] = found
	}
}

// scoreWithin is the primary score of a run that a limit of steps ends, NaN where it is not known: that
// of the state that the next step found. One that made no such step is worth what it is.
func (r *runs) scoreWithin(at int32, limit int) float64 {
	if limit >= len(r.programs[at]) {
		value, _ := r.primary(at)
		return value
	}
	if score, ok := r.kept[at][limit+1]; ok {
		return score
	}
	return math.NaN()
}

// spentBy adds up the calls that had begun at a time.
func spentBy(s *record.Run, until time.Duration) spentUntil {
	var spent record.Usage
	for i := range s.Iterations {
		for _, c := range s.Iterations[i].Calls {
			begun := c.Start
			if c.Step > 0 {
				begun = c.Arrived
			}
			if begun < until {
				spent = spent.Plus(c.Usage)
			}
		}
	}
	return spentUntil{spent.Cost, spent.Tokens(), until}
}

// spentAt is what a run had spent when the step after one arrived; where it made none, in
// all.
func (r *runs) spentAt(at int32, step int) spentUntil {
	if points := r.programs[at]; step <= len(points) {
		return points[step-1]
	}
	run := &r.all[at]
	return spentUntil{run.cost, run.tokens, run.elapsed}
}

// stepCurve is empty where no program called models.
func (c *collector) stepCurve(configuration int, m *measure) (points []StepPoint) {
	most := 0
	for _, at := range m.ordered {
		most = max(most, len(c.runs.programs[at]))
	}
	for step := range most {
		points = append(points, c.stepPoint(&c.sums[configuration], m, step+1))
	}
	return points
}

func (c *collector) stepPoint(u *sums, m *measure, step int) StepPoint {
	column := func() []float64 { return make([]float64, m.groups) } // by cluster
	reached, dollars, tokens, seconds, counts := column(), column(), column(), column(), m.counts()
	var cost record.Money
	for i, at := range m.ordered {
		spent, cluster := c.runs.spentAt(at, step), m.clusters[i]
		cost = cost.Plus(spent.cost)
		dollars[cluster] += spent.cost.Dollars()
		tokens[cluster] += float64(spent.tokens)
		seconds[cluster] += spent.elapsed.Seconds()
		reached[cluster] += numberOf(step <= len(c.runs.programs[at]))
	}
	runs, all := float64(len(m.ordered)), u.agent.Plus(u.judging)
	mean := func(sums []float64, known bool) page.Estimate {
		if !known {
			return page.NoEstimate(page.Unknown)
		}
		return m.about(page.Known(stats.Sum(sums)/runs), sums, counts, m.curveDraws)
	}
	p := StepPoint{
		Step: step, Reached: page.Estimate{Value: page.Known(stats.Sum(reached) / runs), Range: proportion(reached, counts)},
		Cost:   m.about(costOr(cost, all.Unpriced > 0, all.Unreported > 0).Over(runs), dollars, counts, m.curveDraws),
		Tokens: mean(tokens, all.TokensTold()), Seconds: mean(seconds, u.untimed == 0),
	}
	c.runs.scoreSteps(m, &p)
	return p
}

// scoreSteps finds the score of a point, of the runs that have one as they are. Where no
// state of theirs is scored nothing is known.
func (r *runs) scoreSteps(m *measure, p *StepPoint) {
	p.Score, p.Bounds = page.NoEstimate(page.Nothing), page.NoRange(page.Nothing)
	least, most, any, unit := Means{}, Means{}, false, true
	var low, high []float64
	for group := range r.grouped(m.ordered) {
		low, high = low[:0], high[:0]
		for _, run := range group {
			whole, scored := r.primary(run)
			if !scored {
				continue
			}
			score := r.scoreWithin(run, p.Step)
			any, unit = any || len(r.kept[run]) > 0, unit && whole >= 0 && whole <= 1
			if whole >= success && score < success {
				p.Lost++
			}
			if math.IsNaN(score) {
				p.Unscored++
				low, high = append(low, 0), append(high, 1)
			} else {
				low, high = append(low, score), append(high, score)
			}
		}
		least.Add(r.clusterOfRun(group[0]), low)
		most.Add(r.clusterOfRun(group[0]), high)
	}
	switch {
	case !any:
		p.Unscored, p.Lost = 0, 0
	case p.Unscored == 0:
		p.Score = least.Estimate()
	case unit:
		p.Bounds = page.Range{Low: page.ValueOf(stats.Mean(least.All)), High: page.ValueOf(stats.Mean(most.All))}
	}
}

// mostOf are the most runs of a point: whose score is not known although others are.
func mostOf(points []StepPoint, of func(*StepPoint) int) (most int) {
	for p := range page.EachOf(points) {
		most = max(most, of(p))
	}
	return most
}

// stepsTable tells what each further step of a program cost and gave, of the configurations whose
// programs made more than one.
func stepsTable(r *Report) page.Table {
	score := r.shownScore()
	type at = row[StepPoint]
	head := "score"
	if r.Primary() != "" {
		head = ""
	}
	fields := slices.Concat(partFields[StepPoint](r, "Step", "Reached"),
		page.Of(page.Column{Head: head, Key: "score", Right: true}, func(row at) page.Cell {
			cell := page.Number(row.of.Score.Value, score)
			if row.of.Unscored > 0 {
				cell.Warnings = row.notesOf("", StepsUnscored)
			}
			return cell
		}).About(r.Primary()).Optional(),
		page.Of(page.Column{Head: "95%", Right: true}, func(row at) page.Cell { return page.Text(row.of.shownRange().Text(score)) }).Optional().ForPeople(),
		page.Ends("score", func(row at) page.Range { return row.of.Score.Range }),
		page.Ends("score_bound", func(row at) page.Range { return row.of.Bounds }),
		taggedFields[StepPoint](r, "Cost", "Tokens", "Seconds"))
	return page.Filled(page.Table{Keys: 2, Name: "steps", Title: "If a limit of steps ended every run (means per run, when the next call arrived)"}, fields,
		rowsOf(r, func(c *Configuration) []StepPoint {
			if len(c.Steps) < 2 {
				return nil
			}
			return c.Steps
		}))
}

// shownRange is the interval of the score, or, where that is not known, its bounds.
func (p *StepPoint) shownRange() page.Range {
	if p.Unscored > 0 {
		return p.Bounds
	}
	return p.Score.Range
}

// stepped is the configuration whose states at steps say most: the one with the most steps of those that kept states;
// nil: none did. Several with states of the same path are one recording, of which that has most.
func (r *Report) stepped() (most *Configuration) {
	for c := range r.each() {
		if c.KeptSteps && len(c.Steps) > 2 && (most == nil || len(c.Steps) > len(most.Steps)) {
			most = c
		}
	}
	return most
}

// stepsLine says what limits of steps give and save, where that is known: of the limits that lose no success the
// lowest.
func (r *Report) stepsLine(c *Configuration) page.Words {
	var scores []float64
	for i := range c.Steps {
		if !c.Steps[i].Score.Known() {
			return ""
		}
		scores = append(scores, c.Steps[i].Score.Number)
	}
	last := &c.Steps[len(c.Steps)-1]
	text := fmt.Sprintf("%s of %s by steps %s  ", page.Foreign(r.Primary()), page.Foreign(c.Name), page.Spark(scores))
	enough := slices.IndexFunc(c.Steps, func(p StepPoint) bool { return p.Lost == 0 && p.Score.Number >= last.Score.Number })
	if enough < 0 || enough == len(c.Steps)-1 {
		return page.Words(text + fmt.Sprintf("fewer than %d steps lose successes", last.Step))
	}
	least := &c.Steps[enough]
	if last.Score.Number == 0 {
		return ""
	}
	text += page.Plural(least.Step, "step loses", "steps lose") + " no success in " + page.Plural(c.Runs, "run", "runs")
	if last.Cost.Known() && least.Cost.Known() && least.Cost.Number < last.Cost.Number {
		text += fmt.Sprintf(", cost -%s", page.Percent(page.Known(1-least.Cost.Number/last.Cost.Number)))
	}
	return page.Words(text)
}
