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

type configurationFields = page.Fields[*Configuration]

// configurationsTable has one row for each configuration, the most important
// columns first.
func configurationsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, itself), page.Of(page.Column{Head: "runs", Right: true}, runsOfExpected).ForPeople())
	for i := range r.Scorers {
		fields = append(fields, scoreFields(r, i)...)
	}
	// What the loop says matters less where scorers say what was so.
	believed := perRun("loop says\nsuccess", "loop says\n95%", "success", page.Percent, func(c *Configuration) (page.Value, page.Range) { return c.Success, c.SuccessInterval }).Optional()
	if r.Primary() == "" {
		fields = slices.Concat(fields, believed, costFields(r), paceFields(), usageFields())
	} else {
		fields = slices.Concat(fields, costFields(r), paceFields(), usageFields(), believed.Minor())
	}
	return page.TableOf("configurations", "Configurations", append(fields, runFields()...), r.each())
}

func itself(c *Configuration) *Configuration { return c }

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

// row is one of the things of which a configuration has several.
type row[T any] struct {
	*Configuration
	of *T
}

func configurationOf[T any](r row[T]) *Configuration { return r.Configuration }

// rowsOf are the rows of all configurations.
func rowsOf[T any](r *Report, of func(*Configuration) []T) iter.Seq[row[T]] {
	return func(yield func(row[T]) bool) {
		for c := range r.each() {
			all := of(c)
			for i := range all {
				if !yield(row[T]{c, &all[i]}) {
					return
				}
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

// perRun is a number of a configuration with its interval, which has a head of its
// own; warnings of these kinds stand beside the number.
func perRun(head, between, key string, form func(page.Value) string, of func(*Configuration) (page.Value, page.Range), warned ...WarningKind) configurationFields {
	return append(page.Of(page.Column{Head: head, Key: key, Right: true}, func(c *Configuration) page.Cell {
		value, _ := of(c)
		return page.Number(value, form, c.notesOf("", warned...)...)
	}), page.Interval(between, key, form, func(c *Configuration) page.Range { _, interval := of(c); return interval })...)
}

// scoreFields are the columns of the i-th scorer.
func scoreFields(r *Report, i int) configurationFields {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(key string, of func(*Score) int) configurationFields {
		return page.Counted("", key, func(c *Configuration) int { return of(&c.Scores[i]) }).ForMachines()
	}
	end := func(key string, of func(*Score) page.Value) configurationFields {
		return page.Valued("", key, form, func(c *Configuration) page.Value { return of(&c.Scores[i]) }).ForMachines()
	}
	fields := slices.Concat(
		page.Of(page.Column{Key: key + "_mean", Right: true}, func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Mean, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
		}).About(key),
		page.Of(page.Column{Head: "95%", Right: true, Minor: i > 0}, func(c *Configuration) page.Cell {
			return page.Cell{Text: interval(&c.Scores[i], form), Warnings: c.notesOf(key, NoInterval)}
		}).About(key).Optional().ForPeople(),
		page.Of(page.Column{Head: "hits", Right: true}, func(c *Configuration) page.Cell {
			if s := &c.Scores[i]; s.Binary {
				return page.Text(fmt.Sprintf("%d/%d", s.Successes, s.Scored))
			}
			return page.Text("")
		}).About(key).Optional().ForPeople())
	return slices.Concat(fields, end(key+"_low", func(s *Score) page.Value { return s.Low }), end(key+"_high", func(s *Score) page.Value { return s.High }),
		number(key+"_successes", func(s *Score) int { return s.Successes }), number(key+"_scored", func(s *Score) int { return s.Scored }),
		number(key+"_unscored", func(s *Score) int { return s.Unscored }), number(key+"_pending", func(s *Score) int { return s.Pending }))
}

func interval(s *Score, form func(page.Value) string) string {
	between := onScale(s.unit, page.Range{Low: s.Low, High: s.High})
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
func onScale(unit bool, between page.Range) page.Range {
	if unit {
		between.Low.Number, between.High.Number = max(0, between.Low.Number), min(1, between.High.Number)
	}
	return between
}

func costFields(r *Report) configurationFields {
	return slices.Concat(
		perRun("cost\nper run", "per run\n95%", "cost_usd_per_run", r.dollars, func(c *Configuration) (page.Value, page.Range) { return c.Cost.Mean, c.Cost.MeanInterval }, Unpriced, Unreported),
		perRun("cost per\nsuccess", "per success\n95%", "cost_usd_per_success", r.dollars, func(c *Configuration) (page.Value, page.Range) {
			return c.Cost.PerSuccess, c.Cost.PerSuccessInterval
		}, Unpriced, Unreported),
		page.Valued("", "cost_usd_total", r.dollars, func(c *Configuration) page.Value { return c.Cost.Total }).ForMachines())
}

// runFields are how the runs went and stopped.
func runFields() configurationFields {
	count := func(key string, of func(*Configuration) int) configurationFields {
		return page.Counted("", key, of).ForMachines()
	}
	return slices.Concat(
		page.Valued("coverage", "coverage", page.Percent, func(c *Configuration) page.Value { return c.Coverage }).Minor(),
		page.Of(page.Column{Head: "phase limits used", List: true}, phasesUsed).Optional().ForPeople(),
		page.Of(page.Column{Head: "stopped by", Key: "stops", List: true}, stopsInOneCell).Optional(),
		count("tasks", func(c *Configuration) int { return c.Tasks }),
		count("runs", func(c *Configuration) int { return c.Runs }),
		count("expected", func(c *Configuration) int { return c.Expected }),
		count("faults", func(c *Configuration) int { return countAll(c.Faults) }),
		count("agent_failed", func(c *Configuration) int { return countAll(c.Failures) }),
		count("cancelled", func(c *Configuration) int { return c.Cancelled }),
		page.Named("", "warnings", func(c *Configuration) string {
			texts := make([]string, len(c.Warnings))
			for i, w := range c.Warnings {
				texts[i] = w.Text(page.Visible)
			}
			return strings.Join(texts, "; ")
		}).ForMachines())
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

// paceFields are how many iterations and how much time a run takes.
func paceFields() configurationFields {
	both := func(head string, spread func(*Configuration) *Spread, form func(page.Value) string) configurationFields {
		return page.Of(page.Column{Head: head + "\np50 / p95", Right: true}, func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: s.P50.Missing, Warnings: c.notesOf("", Untimed)}
			}
			return page.Cell{Text: page.Joined(form(s.P50), " / ", form(s.P95))}
		}).ForPeople()
	}
	iterations := func(c *Configuration) *Spread { return &c.Iterations }
	latency := func(c *Configuration) *Spread { return &c.Latency }
	return slices.Concat(both("iterations", iterations, page.Whole), both("latency", latency, page.Seconds),
		spreadFields("iterations", iterations, page.Whole), spreadFields("latency_s", latency, page.Seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) *Spread, form func(page.Value) string) configurationFields {
	part := func(name string, value func(*Spread) page.Value) configurationFields {
		return page.Valued("", key+"_"+name, page.Whole, func(c *Configuration) page.Value { return value(spread(c)) }).ForMachines()
	}
	return slices.Concat(
		part("mean", func(s *Spread) page.Value { return s.Mean }),
		page.Ends(key+"_mean", func(c *Configuration) page.Range { return spread(c).MeanInterval }),
		part("p50", func(s *Spread) page.Value { return s.P50 }),
		page.Interval(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) page.Range { return spread(c).P50Interval }),
		part("p95", func(s *Spread) page.Value { return s.P95 }))
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() configurationFields {
	amount := func(head, key string, of func(*Configuration) (page.Value, page.Range), warned ...WarningKind) configurationFields {
		return perRun(head, strings.ReplaceAll(head, "\n", " ")+"\n95%", key, page.Whole, of, warned...)
	}
	rare := func(fields configurationFields) configurationFields {
		return append(unlessZero(fields[:1]).Minor(), fields[1:]...)
	}
	forMachines := func(fields configurationFields) configurationFields {
		return append(fields[:1].ForMachines(), fields[1:]...)
	}
	beside := func(name string, of func(*Configuration) *Judging) configurationFields {
		return slices.Concat(
			rare(amount(name+"\ncalls", name+"_calls", func(c *Configuration) (page.Value, page.Range) { j := of(c); return j.Calls, j.CallsInterval })),
			rare(amount(name+"\ntokens", name+"_tokens", func(c *Configuration) (page.Value, page.Range) { j := of(c); return j.Tokens, j.TokensInterval })),
			page.Valued("", name+"_cost_usd", page.Whole, func(c *Configuration) page.Value { return of(c).Cost }).ForMachines(),
			page.Ends(name+"_cost_usd", func(c *Configuration) page.Range { return of(c).CostInterval }))
	}
	return slices.Concat(
		amount("calls", "calls", func(c *Configuration) (page.Value, page.Range) { return c.Calls, c.CallsInterval }, Unreported),
		amount("tokens", "tokens", func(c *Configuration) (page.Value, page.Range) { return c.Tokens, c.TokensInterval }, Estimated, Uncounted, Unreported),
		// People see the mean of what machines have beside the quantiles.
		page.Valued("iterations\nmean", "", page.Whole, func(c *Configuration) page.Value { return c.Iterations.Mean }).Minor().ForPeople(),
		page.ShownInterval("mean\n95%", page.Whole, func(c *Configuration) page.Range { return c.Iterations.MeanInterval }),
		page.Of(page.Column{Head: "tokens\nin / out", Right: true, Minor: true}, func(c *Configuration) page.Cell {
			if !c.InputTokens.Known() {
				return page.Cell{Text: c.InputTokens.Missing}
			}
			return page.Cell{Text: page.Whole(c.InputTokens) + " / " + page.Whole(c.OutputTokens)}
		}).ForPeople(),
		forMachines(amount("tokens in", "input_tokens", func(c *Configuration) (page.Value, page.Range) { return c.InputTokens, c.InputTokensInterval })),
		forMachines(amount("tokens out", "output_tokens", func(c *Configuration) (page.Value, page.Range) { return c.OutputTokens, c.OutputTokensInterval })),
		rare(amount("tool\ncalls", "tool_calls", func(c *Configuration) (page.Value, page.Range) { return c.ToolCalls, c.ToolCallsInterval })),
		beside("judging", func(c *Configuration) *Judging { return &c.Judging }), // what the evaluations inside the loop used
		beside("user", func(c *Configuration) *Judging { return &c.User }))       // and the users who answered the agents
}

// unlessZero leaves a column out where all its numbers are 0.
func unlessZero(f configurationFields) configurationFields {
	form := f[0].Cell
	f[0].Cell = func(c *Configuration) page.Cell {
		shown := form(c)
		if shown.Text == "0" {
			shown.Text = ""
		}
		return shown
	}
	return f.Optional()
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
	clusters, counts := make([][]stats.Forecast, m.groups), make([]float64, m.groups)
	probabilities := true
	for i, at := range m.ordered {
		run := &c.runs.all[at]
		score, ok := c.runs.primary(at)
		if !ok || !run.evaluated {
			continue
		}
		k.count(run.believed, score >= success)
		confidences, scores = append(confidences, run.confidence), append(scores, score)
		forecast, cluster := stats.Forecast{Probability: run.confidence, Outcome: score}, m.clusters[i]
		forecasts, clusters[cluster] = append(forecasts, forecast), append(clusters[cluster], forecast)
		counts[cluster]++
		probabilities = probabilities && run.confidence >= 0 && run.confidence <= 1 && (score == 0 || score == 1)
	}
	if k.Runs == 0 {
		return nil
	}
	mean := func(of func(f stats.Forecast) float64) page.Range {
		sums := make([]float64, m.groups)
		for cluster, all := range clusters {
			for _, f := range all {
				sums[cluster] += of(f)
			}
		}
		return m.ratio(sums, counts, m.draws)
	}
	gap := func(f stats.Forecast) float64 { return f.Probability - f.Outcome }
	k.Confidence, k.Score = page.ValueOf(stats.Mean(confidences)), page.ValueOf(stats.Mean(scores))
	k.Gap = k.Confidence.Minus(k.Score)
	k.ConfidenceInterval = mean(func(f stats.Forecast) float64 { return f.Probability })
	k.ScoreInterval, k.GapInterval = mean(func(f stats.Forecast) float64 { return f.Outcome }), mean(gap)
	k.BrierInterval, k.AUROCInterval = without(page.Nothing), without(page.Nothing)
	if probabilities {
		k.Brier, k.AUROC = page.ValueOf(stats.Brier(forecasts)), page.ValueOf(stats.AUROC(forecasts))
		k.BrierInterval, k.AUROCInterval = mean(func(f stats.Forecast) float64 { return gap(f) * gap(f) }), rangeOf(stats.AUROCInterval(clusters, stats.Level))
	}
	return &k
}

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
	difference := func(v page.Value) string { return page.Gain(v, digits) }
	number := func(head, key string, of func(*Calibration) int) configurationFields {
		return page.Counted(head, key, func(c *Configuration) int { return of(c.Calibration) })
	}
	value := func(head, between, key string, form func(page.Value) string, of func(*Calibration) (page.Value, page.Range)) configurationFields {
		return perRun(head, between, key, form, func(c *Configuration) (page.Value, page.Range) { return of(c.Calibration) }).Optional()
	}
	fields := slices.Concat(nameFields(r, itself),
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence\n95%", "confidence_mean", form, func(k *Calibration) (page.Value, page.Range) { return k.Confidence, k.ConfidenceInterval }),
		value("", "95%", "score_mean", form, func(k *Calibration) (page.Value, page.Range) { return k.Score, k.ScoreInterval }).About(r.Primary()),
		value("gap", "gap 95%", "gap", difference, func(k *Calibration) (page.Value, page.Range) { return k.Gap, k.GapInterval }),
		number("confirmed", "confirmed", func(k *Calibration) int { return k.Confirmed }),
		number("false\nalarms", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("missed", "missed", func(k *Calibration) int { return k.Missed }),
		value("Brier", "Brier 95%", "brier", form, func(k *Calibration) (page.Value, page.Range) { return k.Brier, k.BrierInterval }).Minor(),
		value("AUROC", "AUROC 95%", "auroc", form, func(k *Calibration) (page.Value, page.Range) { return k.AUROC, k.AUROCInterval }).Minor())
	return page.Filled(page.Table{Name: "calibration", Title: "Runs that the loop believed to be successes, and what they were"}, fields,
		func(yield func(*Configuration) bool) {
			for c := range r.each() {
				if c.Calibration != nil && !yield(c) {
					return
				}
			}
		})
}
