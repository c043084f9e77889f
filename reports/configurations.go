package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

type configurationField = page.Field[*Configuration]

// configurationsTable has one row for each configuration, the most important
// columns first.
func configurationsTable(r *Report) page.Table {
	fields := []configurationField{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: r.nameCell},
		forMachines(configurationField{Column: page.Column{Key: "simulated"}, Cell: func(c *Configuration) page.Cell {
			return page.Name(c.simulatedBy())
		}}),
		{Column: page.Column{Head: "runs", Right: true, Only: page.People}, Cell: runsOfExpected},
	}
	for i := range r.Scorers {
		fields = append(fields, scoreFields(r, i)...)
	}
	if r.Primary() == "" {
		fields = append(fields, believedFields(r)...)
	}
	fields = append(fields, costFields(r)...)
	fields = append(fields, paceFields()...)
	fields = append(fields, usageFields()...)
	if r.Primary() != "" {
		fields = append(fields, believedFields(r)...)
	}
	fields = append(fields, runFields()...)
	t := page.Table{Name: "configurations", Title: "Configurations", Columns: page.ColumnsOf(fields), Whole: true}
	t.Fill(page.RowsOf(fields, r.each()))
	return t
}

// each gives the configurations.
func (r *Report) each() iter.Seq[*Configuration] {
	return func(yield func(*Configuration) bool) {
		for i := range r.Configurations {
			if !yield(&r.Configurations[i]) {
				return
			}
		}
	}
}

func runsOfExpected(c *Configuration) page.Cell {
	text := fmt.Sprint(c.Runs)
	if c.Runs != c.Expected {
		text = fmt.Sprintf("%d/%d", c.Runs, c.Expected)
	}
	return page.Cell{Text: text, Warnings: c.notesOf("", Faults, NotRun, AgentFailed, OtherModel, NotJSON)}
}

// scoreFields are the columns of the i-th scorer.
func scoreFields(r *Report, i int) []configurationField {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(key string, of func(*Score) int) configurationField {
		return configurationField{Column: page.Column{Key: key, Right: true, Only: page.Machines},
			Cell: func(c *Configuration) page.Cell { return page.Count(of(&c.Scores[i])) }}
	}
	return []configurationField{
		{Column: page.Column{About: key, Key: key + "_mean", Right: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Mean, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
		}},
		{Column: page.Column{About: key, Head: "95%", Right: true, Optional: true, Minor: i > 0, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Cell{Text: interval(&c.Scores[i], form), Warnings: c.notesOf(key, NoInterval)}
		}},
		{Column: page.Column{About: key, Head: "hits", Right: true, Optional: true, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Text(hits(&c.Scores[i]))
		}},
		{Column: page.Column{Key: key + "_low", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Low, form)
		}},
		{Column: page.Column{Key: key + "_high", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].High, form)
		}},
		number(key+"_successes", func(s *Score) int { return s.Successes }),
		number(key+"_scored", func(s *Score) int { return s.Scored }),
		number(key+"_unscored", func(s *Score) int { return s.Unscored }),
		number(key+"_pending", func(s *Score) int { return s.Pending }),
	}
}

func interval(s *Score, form func(page.Value) string) string {
	between := s.onScale(page.Range{Low: s.Low, High: s.High})
	switch {
	case s.Scored == 0:
		return ""
	case !between.Low.Known():
		return page.Nothing
	}
	return form(between.Low) + "–" + form(between.High)
}

// onScale is an interval as it is shown: where all scores are from 0 to 1 their
// means are, too.
func (s *Score) onScale(between page.Range) page.Range {
	if s.unit {
		between.Low.Number, between.High.Number = max(0, between.Low.Number), min(1, between.High.Number)
	}
	return between
}

func hits(s *Score) string {
	if !s.Binary {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Successes, s.Scored)
}

// believedFields are what the loop says, which matters less where scorers say
// what was so.
func believedFields(r *Report) []configurationField {
	return append([]configurationField{{
		Column: page.Column{Head: "loop says\nsuccess", Key: "success", Right: true, Optional: true, Minor: r.Primary() != ""},
		Cell:   func(c *Configuration) page.Cell { return page.Number(c.Success, page.Percent) },
	}}, page.Interval("loop says\n95%", "success", page.Percent, func(c *Configuration) page.Range { return c.SuccessInterval })...)
}

func costFields(r *Report) []configurationField {
	mean := configurationField{Column: page.Column{Head: "cost\nper run", Key: "cost_usd_per_run", Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.Mean, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	perSuccess := configurationField{Column: page.Column{Head: "cost per\nsuccess", Key: "cost_usd_per_success", Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.PerSuccess, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	total := configurationField{Column: page.Column{Key: "cost_usd_total", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.Total, r.dollars)
	}}
	return slices.Concat(
		[]configurationField{mean},
		page.Interval("per run\n95%", "cost_usd_per_run", r.dollars, func(c *Configuration) page.Range { return c.Cost.MeanInterval }),
		[]configurationField{perSuccess},
		page.Interval("per success\n95%", "cost_usd_per_success", r.dollars, func(c *Configuration) page.Range { return c.Cost.PerSuccessInterval }),
		[]configurationField{total})
}

// runFields are how the runs went and stopped.
func runFields() []configurationField {
	return []configurationField{
		{Column: page.Column{Head: "coverage", Key: "coverage", Right: true, Minor: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Coverage, page.Percent)
		}},
		{Column: page.Column{Head: "phase limits used", Only: page.People, List: true, Optional: true}, Cell: phasesUsed},
		{Column: page.Column{Head: "stopped by", Key: "stops", List: true, Optional: true}, Cell: stopsInOneCell},
		{Column: page.Column{Key: "tasks", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Tasks) }},
		{Column: page.Column{Key: "runs", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Runs) }},
		{Column: page.Column{Key: "expected", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Expected) }},
		{Column: page.Column{Key: "faults", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(countAll(c.Faults)) }},
		{Column: page.Column{Key: "agent_failed", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Count(countAll(c.Failures))
		}},
		{Column: page.Column{Key: "cancelled", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Cancelled) }},
		{Column: page.Column{Key: "warnings", Only: page.Machines}, Cell: warningsInOneCell},
	}
}

func phasesUsed(c *Configuration) page.Cell {
	var parts []string
	for _, l := range c.Limits {
		if phase, ok := l.phase(); ok {
			parts = append(parts, phase+" "+page.Percent(l.Share))
		}
	}
	return page.Cell{Text: strings.Join(parts, ", "), Foreign: true}
}

func stopsInOneCell(c *Configuration) page.Cell {
	text, raw := make([]string, len(c.Stops)), make([]string, len(c.Stops))
	for i := range c.Stops {
		text[i] = c.Stops[i].Name() + " " + page.Percent(c.Stops[i].Share)
		raw[i] = fmt.Sprintf("%s=%d", c.Stops[i].Name(), c.Stops[i].Runs)
	}
	return page.Cell{Text: strings.Join(text, ", "), Raw: strings.Join(raw, "; "), Foreign: true}
}

func warningsInOneCell(c *Configuration) page.Cell {
	texts := make([]string, len(c.Warnings))
	for i, w := range c.Warnings {
		texts[i] = w.Text(page.Visible)
	}
	return page.Name(strings.Join(texts, "; "))
}

// paceFields are how many iterations and how much time a run takes.
func paceFields() []configurationField {
	both := func(spread func(*Configuration) Spread, form func(page.Value) string) func(*Configuration) page.Cell {
		return func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: s.P50.Missing, Warnings: c.notesOf("", Untimed)}
			}
			return page.Cell{Text: page.Joined(form(s.P50), " / ", form(s.P95))}
		}
	}
	iterations := func(c *Configuration) Spread { return c.Iterations }
	latency := func(c *Configuration) Spread { return c.Latency }
	return slices.Concat(
		[]configurationField{{Column: page.Column{Head: "iterations\np50 / p95", Right: true, Only: page.People}, Cell: both(iterations, page.Whole)}},
		[]configurationField{{Column: page.Column{Head: "latency\np50 / p95", Right: true, Only: page.People}, Cell: both(latency, page.Seconds)}},
		spreadFields("iterations", iterations, page.Whole), spreadFields("latency_s", latency, page.Seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) Spread, form func(page.Value) string) []configurationField {
	part := func(name string, value func(Spread) page.Value) configurationField {
		return configurationField{Column: page.Column{Key: key + "_" + name, Only: page.Machines},
			Cell: func(c *Configuration) page.Cell { return page.Number(value(spread(c)), page.Whole) }}
	}
	return slices.Concat(
		[]configurationField{part("mean", func(s Spread) page.Value { return s.Mean })},
		page.Ends(key+"_mean", func(c *Configuration) page.Range { return spread(c).MeanInterval }),
		[]configurationField{part("p50", func(s Spread) page.Value { return s.P50 })},
		page.Interval(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) page.Range { return spread(c).P50Interval }),
		[]configurationField{part("p95", func(s Spread) page.Value { return s.P95 })})
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() []configurationField {
	calls := amountField("calls", "calls", func(c *Configuration) page.Value { return c.Calls }, Unreported)
	tokens := amountField("tokens", "tokens", func(c *Configuration) page.Value { return c.Tokens }, Estimated, Uncounted, Unreported)
	toolCalls := amountField("tool\ncalls", "tool_calls", func(c *Configuration) page.Value { return c.ToolCalls })
	return slices.Concat([]configurationField{calls}, amountInterval("calls", "calls", func(c *Configuration) page.Range { return c.CallsInterval }),
		[]configurationField{tokens}, amountInterval("tokens", "tokens", func(c *Configuration) page.Range { return c.TokensInterval }),
		iterationsFields(), []configurationField{
			{Column: page.Column{Head: "tokens\nin / out", Right: true, Only: page.People, Minor: true}, Cell: inAndOut},
			forMachines(amountField("", "input_tokens", func(c *Configuration) page.Value { return c.InputTokens })),
		}, amountInterval("tokens in", "input_tokens", func(c *Configuration) page.Range { return c.InputTokensInterval }),
		[]configurationField{forMachines(amountField("", "output_tokens", func(c *Configuration) page.Value { return c.OutputTokens }))},
		amountInterval("tokens out", "output_tokens", func(c *Configuration) page.Range { return c.OutputTokensInterval }),
		[]configurationField{page.Minor(unlessZero(toolCalls))},
		amountInterval("tool calls", "tool_calls", func(c *Configuration) page.Range { return c.ToolCallsInterval }),
		judgingFields(), userFields())
}

// amountField is a mean per run; warnings of these kinds stand beside it.
func amountField(head, key string, value func(*Configuration) page.Value, warned ...WarningKind) configurationField {
	return configurationField{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(value(c), page.Whole, c.notesOf("", warned...)...)
	}}
}

func amountInterval(head, key string, of func(*Configuration) page.Range) []configurationField {
	return page.Interval(head+"\n95%", key, page.Whole, of)
}

// iterationsFields are the mean for people, which machines have beside the
// quantiles.
func iterationsFields() []configurationField {
	mean := forPeople(page.Minor(amountField("iterations\nmean", "", func(c *Configuration) page.Value { return c.Iterations.Mean })))
	return []configurationField{mean, page.ShownInterval("mean\n95%", page.Whole, func(c *Configuration) page.Range { return c.Iterations.MeanInterval })}
}

// judgingFields are what the evaluations inside the loop used.
func judgingFields() []configurationField {
	return besideFields("judging", func(c *Configuration) *Judging { return &c.Judging })
}

// userFields are what the users used who answered the agents.
func userFields() []configurationField {
	return besideFields("user", func(c *Configuration) *Judging { return &c.User })
}

// besideFields are what was used beside the agent, in the ledger of that name.
func besideFields(name string, of func(*Configuration) *Judging) []configurationField {
	calls := amountField(name+"\ncalls", name+"_calls", func(c *Configuration) page.Value { return of(c).Calls })
	tokens := amountField(name+"\ntokens", name+"_tokens", func(c *Configuration) page.Value { return of(c).Tokens })
	cost := forMachines(amountField("", name+"_cost_usd", func(c *Configuration) page.Value { return of(c).Cost }))
	return slices.Concat(
		[]configurationField{page.Minor(unlessZero(calls))},
		amountInterval(name+" calls", name+"_calls", func(c *Configuration) page.Range { return of(c).CallsInterval }),
		[]configurationField{page.Minor(unlessZero(tokens))},
		amountInterval(name+" tokens", name+"_tokens", func(c *Configuration) page.Range { return of(c).TokensInterval }),
		[]configurationField{cost},
		page.Ends(name+"_cost_usd", func(c *Configuration) page.Range { return of(c).CostInterval }))
}

// unlessZero leaves a column out where all its numbers are 0.
func unlessZero(f configurationField) configurationField {
	f.Optional = true
	form := f.Cell
	f.Cell = func(c *Configuration) page.Cell {
		shown := form(c)
		if shown.Text == "0" {
			shown.Text = ""
		}
		return shown
	}
	return f
}

func forPeople(f configurationField) configurationField {
	f.Only = page.People
	return f
}

func forMachines(f configurationField) configurationField {
	f.Only = page.Machines
	return f
}

func inAndOut(c *Configuration) page.Cell {
	if !c.InputTokens.Known() {
		return page.Cell{Text: c.InputTokens.Missing}
	}
	return page.Cell{Text: page.Whole(c.InputTokens) + " / " + page.Whole(c.OutputTokens)}
}

// spending adds up what the runs of each cluster spent, iteration by iteration.
type spending struct {
	*measure
	counts           []float64
	dollars, seconds stepwise
}

// stepwise is an amount of each cluster: in an iteration, and up to it.
type stepwise struct{ extra, all []float64 }

func (m *measure) spending() *spending {
	column := func() stepwise { return stepwise{make([]float64, m.groups), make([]float64, m.groups)} }
	return &spending{measure: m, counts: m.counts(), dollars: column(), seconds: column()}
}

// bound finds the intervals of what runs spent up to a point of the curve, which
// is the one behind that of the call before.
func (s *spending) bound(p *CurvePoint) {
	clear(s.dollars.extra)
	clear(s.seconds.extra)
	for i, at := range s.ordered {
		if run := &s.runs.all[at]; p.Iteration <= int(run.iterations) {
			step, cluster := int(run.steps)+p.Iteration-1, s.clusters[i]
			s.dollars.extra[cluster] += float64(s.runs.stepDollars[step])
			s.seconds.extra[cluster] += float64(s.runs.stepSeconds[step])
		}
	}
	s.dollars.settle()
	s.seconds.settle()
	p.ExtraCostInterval = s.about(p.ExtraCost, s.dollars.extra, s.counts, s.curveDraws)
	p.ExtraSecondsInterval = s.about(p.ExtraSeconds, s.seconds.extra, s.counts, s.curveDraws)
	p.CostInterval, p.SecondsInterval = p.ExtraCostInterval, p.ExtraSecondsInterval
	if p.Iteration > 1 {
		p.CostInterval = s.about(p.Cost, s.dollars.all, s.counts, s.curveDraws)
		p.SecondsInterval = s.about(p.Seconds, s.seconds.all, s.counts, s.curveDraws)
	}
}

func (a *stepwise) settle() {
	for i, extra := range a.extra {
		a.all[i] += extra
	}
}

// Effort compares what the runs cost as if nothing were cached with what was
// really paid, all attempts at them together. Two results of the same runs may
// differ in it: it is in no table, and stands in JSON under "volatile", which is
// left out where reports are compared.
type Effort struct {
	Cached   int64      `json:"cached"`   // calls that the cache answered
	Made     int64      `json:"made"`     // calls that it did not
	Attempts int64      `json:"attempts"` // requests sent
	Waited   page.Value `json:"waited_s"` // for rate limits, and to try again
	AsIf     Spent      `json:"as_if"`
	Paid     Spent      `json:"paid"`
}

// Spent are the totals of usages.
type Spent struct {
	Calls  int64      `json:"calls"`
	Tokens int64      `json:"tokens"`
	Cost   page.Value `json:"cost_usd"`
}

// EffortOf is the effort of the manifest's runs; nil where nothing was cached,
// tried again or paid beyond what the runs show.
func EffortOf(m *record.Manifest) *Effort {
	asIf, e := m.Totals.Used(), &m.Volatile.Effort
	if e.Made == 0 && e.Cached == 0 || e.Cached == 0 && e.Attempts <= e.Made && spentOf(asIf) == spentOf(e.Paid) {
		return nil
	}
	return &Effort{
		Cached: e.Cached, Made: e.Made, Attempts: e.Attempts, Waited: page.Known(e.Waited.Seconds()),
		AsIf: spentOf(asIf), Paid: spentOf(e.Paid),
	}
}

func spentOf(u record.Usage) Spent {
	return Spent{Calls: u.Calls, Tokens: u.Tokens(), Cost: totalCost(u, 1)}
}

// Text is the effort for people, in a line.
func (e *Effort) Text() string {
	text := fmt.Sprintf("cache: %s, %s", page.Plural(int(e.Cached), "hit", "hits"), page.Plural(int(e.Made), "miss", "misses"))
	if e.Attempts > e.Made {
		text += fmt.Sprintf("; %s sent", page.Plural(int(e.Attempts), "request", "requests"))
	}
	if e.Waited.Number > 0 {
		text += ", " + page.Seconds(e.Waited) + " waited"
	}
	return text + fmt.Sprintf("; cost as if nothing were cached %s, paid %s", e.AsIf.cost(), e.Paid.cost())
}

func (s Spent) cost() string { return page.Dollars(s.Cost, 2) }

// Calibration compares what the loop believed with what the primary scorer
// says, over the runs that have both a confidence and a score.
type Calibration struct {
	Runs               int        `json:"runs"`
	Confidence         page.Value `json:"confidence"` // mean, of the returned iterations
	ConfidenceInterval page.Range `json:"confidence_interval"`
	Score              page.Value `json:"score"` // mean
	ScoreInterval      page.Range `json:"score_interval"`
	Gap                page.Value `json:"gap"` // confidence - score: above 0 it thinks too well of itself
	GapInterval        page.Range `json:"gap_interval"`
	// The runs by what the loop believed and what was so.
	Confirmed  int `json:"confirmed"`   // believed and a success
	FalseAlarm int `json:"false_alarm"` // believed, but no success
	Missed     int `json:"missed"`      // a success, but not believed
	// Brier (0 is perfect) and AUROC (0.5 is chance) need confidences from 0 to
	// 1 and scores of 0 and 1.
	Brier         page.Value `json:"brier"`
	BrierInterval page.Range `json:"brier_interval"`
	AUROC         page.Value `json:"auroc"`
	AUROCInterval page.Range `json:"auroc_interval"`
}

// calibration is nil where no run has both a confidence and a score.
func (c *collector) calibration(m *measure) *Calibration {
	k := Calibration{Brier: page.Missing(page.Nothing), AUROC: page.Missing(page.Nothing)}
	var confidences, scores []float64
	var forecasts []stats.Forecast
	parts := m.calibration()
	probabilities := true
	for i, at := range m.ordered {
		run := &c.runs.all[at]
		score, ok := c.runs.primary(at)
		if !ok || !run.evaluated {
			continue
		}
		k.count(run.believed, score >= success)
		parts.add(m.clusters[i], run.confidence, score)
		confidences, scores = append(confidences, run.confidence), append(scores, score)
		forecast := stats.Forecast{Probability: run.confidence, Outcome: score}
		forecasts = append(forecasts, forecast)
		parts.forecasts[m.clusters[i]] = append(parts.forecasts[m.clusters[i]], forecast)
		probabilities = probabilities && run.confidence >= 0 && run.confidence <= 1 && (score == 0 || score == 1)
	}
	if k.Runs == 0 {
		return nil
	}
	k.Confidence, k.Score = page.ValueOf(stats.Mean(confidences)), page.ValueOf(stats.Mean(scores))
	k.Gap = k.Confidence.Minus(k.Score)
	k.ConfidenceInterval, k.ScoreInterval, k.GapInterval = parts.mean(parts.confidences), parts.mean(parts.scores), parts.mean(parts.gaps)
	k.BrierInterval, k.AUROCInterval = rangeOf(stats.Interval{}, false), rangeOf(stats.Interval{}, false)
	if probabilities {
		k.Brier, k.AUROC = page.ValueOf(stats.Brier(forecasts)), page.ValueOf(stats.AUROC(forecasts))
		k.BrierInterval, k.AUROCInterval = parts.mean(parts.squares), rangeOf(stats.AUROCInterval(parts.forecasts, stats.Level))
	}
	return &k
}

// calibrationParts are what the runs of each cluster add to the sums.
type calibrationParts struct {
	*measure
	runs, confidences, scores, gaps, squares []float64
	forecasts                                [][]stats.Forecast
}

func (m *measure) calibration() *calibrationParts {
	column := func() []float64 { return make([]float64, m.groups) }
	return &calibrationParts{m, column(), column(), column(), column(), column(), make([][]stats.Forecast, m.groups)}
}

func (p *calibrationParts) add(cluster int32, confidence, score float64) {
	gap := confidence - score
	p.runs[cluster]++
	p.confidences[cluster] += confidence
	p.scores[cluster] += score
	p.gaps[cluster] += gap
	p.squares[cluster] += gap * gap
}

func (p *calibrationParts) mean(sums []float64) page.Range { return p.ratio(sums, p.runs, p.draws) }

func (k *Calibration) count(believed, succeeded bool) {
	k.Runs++
	switch {
	case believed && succeeded:
		k.Confirmed++
	case believed:
		k.FalseAlarm++
	case succeeded:
		k.Missed++
	}
}

// calibrationTable compares what the loops believed with what the primary
// scorer says.
func calibrationTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(head, key string, of func(*Calibration) int) configurationField {
		return configurationField{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(c *Configuration) page.Cell {
			return page.Count(of(c.Calibration))
		}}
	}
	value := func(head, key string, form func(page.Value) string, value func(*Calibration) page.Value) configurationField {
		return configurationField{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(value(c.Calibration), form)
		}}
	}
	between := func(head, key string, form func(page.Value) string, of func(*Calibration) page.Range) []configurationField {
		return page.Interval(head, key, form, func(c *Configuration) page.Range { return of(c.Calibration) })
	}
	difference := func(v page.Value) string { return page.Gain(v, digits) }
	fields := slices.Concat(nameFields(r, func(c *Configuration) *Configuration { return c }), []configurationField{
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence_mean", form, func(k *Calibration) page.Value { return k.Confidence }),
	}, between("confidence\n95%", "confidence_mean", form, func(k *Calibration) page.Range { return k.ConfidenceInterval }), []configurationField{
		page.About(r.Primary(), value("", "score_mean", form, func(k *Calibration) page.Value { return k.Score })),
	}, between("95%", "score_mean", form, func(k *Calibration) page.Range { return k.ScoreInterval }), []configurationField{
		value("gap", "gap", difference, func(k *Calibration) page.Value { return k.Gap }),
	}, between("gap 95%", "gap", difference, func(k *Calibration) page.Range { return k.GapInterval }), []configurationField{
		number("confirmed", "confirmed", func(k *Calibration) int { return k.Confirmed }),
		number("false\nalarms", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("missed", "missed", func(k *Calibration) int { return k.Missed }),
		page.Minor(value("Brier", "brier", form, func(k *Calibration) page.Value { return k.Brier })),
	}, between("Brier 95%", "brier", form, func(k *Calibration) page.Range { return k.BrierInterval }), []configurationField{
		page.Minor(value("AUROC", "auroc", form, func(k *Calibration) page.Value { return k.AUROC })),
	}, between("AUROC 95%", "auroc", form, func(k *Calibration) page.Range { return k.AUROCInterval }))
	t := page.Table{Name: "calibration", Title: "Runs that the loop believed to be successes, and what they were", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.calibrated()))
	return t
}

// calibrated are the configurations that have confidences and scores.
func (r *Report) calibrated() iter.Seq[*Configuration] {
	return func(yield func(*Configuration) bool) {
		for c := range r.each() {
			if c.Calibration != nil && !yield(c) {
				return
			}
		}
	}
}
