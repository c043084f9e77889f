package reports

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// Trend is several results of a suite, one after the other: each configuration's scores, cost
// and time, compared with the result before it that has the configuration.
type Trend struct {
	page.Sheet
	options DiffOptions
	scorers []string
	results []string // their names, in order
	rows    []trendRow
	last    map[string]before // by configuration
}

// trendRow is a configuration in a result.
type trendRow struct {
	*Configuration
	result string
	at     time.Time // zero: unknown
	place  int       // of the result
	before string    // the result that it is compared with; "": it is the first
	pair   *Pair     // nil: they could not be compared
}

// before is the result in which a configuration was seen last.
type before struct {
	name   string
	report *Report
}

// TrendSchema names the form of a trend in JSON.
const TrendSchema = "agentbench/trend/1"

// writtenTrend and trendOf are what a trend writes as JSON, but the scores, which have keys of their own.
type writtenTrend struct {
	Schema  string    `json:"schema"`
	Suite   string    `json:"suite"`
	Heading string    `json:"heading"`
	Trend   []trendOf `json:"trend"`
	Notes   []string  `json:"notes"`
}

type trendOf struct {
	Result         string           `json:"result"`
	Started        string           `json:"started"` // "": unknown
	Configuration  string           `json:"configuration"`
	ComparedWith   string           `json:"compared_with"` // "": it is the first
	Runs           int              `json:"runs"`
	Cost           page.Value       `json:"cost_usd"`
	CostLow        page.Value       `json:"cost_usd_low"`
	CostHigh       page.Value       `json:"cost_usd_high"`
	CostVerdict    *compare.Verdict `json:"cost_usd_verdict"`
	CostChange     page.Value       `json:"cost_usd_change"`
	Latency        page.Value       `json:"latency_s"`
	LatencyLow     page.Value       `json:"latency_s_low"`
	LatencyHigh    page.Value       `json:"latency_s_high"`
	LatencyVerdict *compare.Verdict `json:"latency_s_verdict"`
	LatencyChange  page.Value       `json:"latency_s_change"`
}

// TrendJSONSchema describes the JSON of trends. Of each score a row has the keys that it has of the cost, which
// begin with the name of the score.
func TrendJSONSchema() ([]byte, error) {
	s := schemas{definitions: map[string]any{}}
	row := s.object(reflect.TypeFor[trendOf]())
	row["patternProperties"] = map[string]any{"_verdict$": map[string]any{"anyOf": []any{s.of(reflect.TypeFor[page.Value]()), s.of(reflect.TypeFor[compare.Verdict]())}}}
	row["additionalProperties"] = s.of(reflect.TypeFor[page.Value]())
	return schemaWith(TrendSchema, reflect.TypeFor[writtenTrend](), map[string]any{"trendOf": row})
}

// NewTrend makes a trend without results.
func NewTrend(options DiffOptions) *Trend { return &Trend{options: options, last: map[string]before{}} }

// Add puts a result behind the others. It keeps the reports of the results alone that a next
// one is compared with.
func (t *Trend) Add(name string, at time.Time, r *Report) error {
	if t.Suite == "" {
		t.Kind, t.Suite = "trend", r.Suite
	} else if t.Suite != r.Suite {
		t.note(func(quote func(string) string) string {
			return quote(name) + " is of the suite " + quote(r.Suite) + ", others of " + quote(t.Suite)
		})
	}
	for _, scorer := range r.Scorers {
		if !slices.Contains(t.scorers, scorer) {
			t.scorers = append(t.scorers, scorer)
		}
	}
	t.results = append(t.results, name)
	for c := range r.each() {
		row := trendRow{Configuration: c, result: name, at: at, place: len(t.results) - 1}
		if last, seen := t.last[c.Name]; seen {
			if err := t.compare(&row, last, r); err != nil {
				return err
			}
		}
		t.rows = append(t.rows, row)
		t.last[c.Name] = before{name, r}
	}
	return nil
}

// compare compares a row with the result before it. That they have no task in common is a note.
func (t *Trend) compare(row *trendRow, last before, r *Report) error {
	options := t.options
	options.BaseName, options.NewName = last.name, row.result
	options.BaseConfiguration, options.NewConfiguration = row.Name, row.Name
	compared, err := Diff(last.report, r, options)
	switch {
	case errors.Is(err, compare.ErrNoCommonTask), errors.Is(err, ErrNoPair):
		t.note(func(quote func(string) string) string {
			return quote(row.result) + " and " + quote(last.name) + " have no task of " + quote(row.Name) + " in common"
		})
	case err != nil:
		return err
	default:
		row.before, row.pair = last.name, &compared.Pairs[0]
	}
	return nil
}

// Note puts a text of our own below the tables.
func (t *Trend) Note(text string) { t.note(page.Saying(text)) }

func (t *Trend) note(words page.Words) { t.Notes = append(t.Notes, words) }

// Newest are the results that were compared last, "" where none were.
func (t *Trend) Newest() (base, compared string) {
	for i := range t.rows {
		if row := &t.rows[i]; row.pair != nil {
			base, compared = row.before, row.result
		}
	}
	return base, compared
}

// End makes the page of the results that were added.
func (t *Trend) End() {
	t.Head = func(quote func(string) string) string {
		text := quote(t.Suite) + " · trend of " + page.Plural(len(t.results), "result", "results")
		if first, last := t.rows[0].at, t.rows[len(t.rows)-1].at; !first.IsZero() && !last.IsZero() {
			text += " · " + first.UTC().Format(time.DateOnly) + " to " + last.UTC().Format(time.DateOnly)
		}
		return text
	}
	t.Said = t.says
	t.List = []page.Table{t.table()}
}

// says is how the newest result compares with the one before.
func (t *Trend) says(quote func(string) string) string {
	var all []string
	for row := range page.EachOf(t.rows) {
		if row.place != len(t.results)-1 || row.pair == nil {
			continue
		}
		var parts []string
		for _, name := range append(slices.Clone(t.scorers), "cost_usd", "latency_s") {
			if d := row.difference(name); d != nil {
				parts = append(parts, quote(name)+" "+verdictWord(d.Verdict))
			}
		}
		all = append(all, quote(row.Name)+" compared with "+quote(row.before)+": "+strings.Join(parts, ", "))
	}
	if all == nil {
		return "The newest result has none before it to compare with"
	}
	return strings.Join(all, "; ")
}

func verdictWord(v compare.Verdict) string {
	if v == compare.CannotTell {
		return "inconclusive"
	}
	return string(v)
}

// difference is that of a quantity; nil: nothing is compared.
func (r *trendRow) difference(name string) *compare.Difference {
	if r.pair == nil {
		return nil
	}
	for d := range page.EachOf(r.pair.Differences) {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func (r *trendRow) score(name string) (page.Value, page.Range) {
	at := slices.IndexFunc(r.Scores, func(s Score) bool { return s.Name == name })
	if at < 0 {
		return page.Missing("not scored"), page.NoRange("not scored")
	}
	s := &r.Scores[at]
	return s.Mean, page.Range{Low: s.Low, High: s.High}.OnScale(s.unit)
}

// quantities are what a trend has of each row.
func (t *Trend) quantities() (all []trendQuantity) {
	for _, name := range t.scorers {
		all = append(all, trendQuantity{name, page.Axis{Name: name, Form: func(v page.Value) string { return page.Score(v, compare.ShownDigits) }},
			func(r *trendRow) (page.Value, page.Range) { return r.score(name) }})
	}
	return append(all,
		trendQuantity{"cost_usd", page.Axis{Name: "cost per run", Unit: page.InDollars, Shown: []float64{0}, Form: t.dollars},
			func(r *trendRow) (page.Value, page.Range) { return r.Cost.Mean, r.Cost.MeanInterval }},
		trendQuantity{"latency_s", page.Axis{Name: "latency per run", Unit: page.InSeconds, Shown: []float64{0}, Form: page.Or(page.Nothing, page.Seconds)},
			func(r *trendRow) (page.Value, page.Range) { return r.Latency.Mean, r.Latency.MeanInterval }})
}

type trendQuantity struct {
	name string
	axis page.Axis
	of   func(*trendRow) (page.Value, page.Range)
}

// dollars shows amounts with the digits that the smallest needs.
func (t *Trend) dollars(v page.Value) string {
	digits := digitsOf(page.EachOf(t.rows), func(r *trendRow) page.Value { return r.Cost.Mean })
	return page.Or(page.Nothing, func(v page.Value) string { return page.Dollars(v, digits) })(v)
}

// table has a row for each result and configuration.
func (t *Trend) table() page.Table {
	fields := slices.Concat(
		page.Named("result", "result", func(r *trendRow) string { return r.result }),
		page.Worded("started", "started", func(r *trendRow) string {
			if r.at.IsZero() {
				return ""
			}
			return r.at.UTC().Format("2006-01-02 15:04")
		}).Optional(),
		page.Of(page.Column{Head: "configuration", Key: "configuration"}, func(r *trendRow) page.Cell {
			cell := page.Name(r.Name)
			cell.Runs = r.terms()
			return cell
		}),
		page.Named("", "compared_with", func(r *trendRow) string { return r.before }).ForMachines(),
		page.Right("runs", "", func(r *trendRow) page.Cell { return runsOfExpected(r.Configuration) }).ForPeople(),
		page.Counted("", "runs", func(r *trendRow) int { return r.Runs }).ForMachines())
	for _, q := range t.quantities() {
		head := q.axis.Name
		if slices.Contains(t.scorers, q.name) {
			head = ""
		}
		number := page.Valued(head, q.name, q.axis.Form, func(r *trendRow) page.Value { v, _ := q.of(r); return v })
		if head == "" {
			number = number.About(q.name)
		}
		fields = slices.Concat(fields, number,
			page.Interval("95%", q.name, q.axis.Form, func(r *trendRow) page.Range { _, between := q.of(r); return between }),
			page.Of(page.Column{Head: "vs. before", Key: q.name + "_verdict"}, func(r *trendRow) page.Cell { return r.verdict(q.name) }),
			page.Valued("", q.name+"_change", q.axis.Form, func(r *trendRow) page.Value { return r.change(q.name) }).ForMachines())
	}
	return page.Filled(page.Table{Name: "trend", Title: "Trend", Whole: true, Keys: 3}, fields, page.EachOf(t.rows))
}

// terms name the row, to which marks lead.
func (r *trendRow) terms() []string {
	return []string{page.Term("config", r.Name), page.Term("result", r.result)}
}

// verdict is the change since the result before, and what it means.
func (r *trendRow) verdict(name string) page.Cell {
	d := r.difference(name)
	if d == nil {
		return page.Cell{Text: page.Nothing}
	}
	digits := page.DollarDigits(slices.Values([]page.Value{d.Value(d.Base), d.Value(d.New)}))
	return page.Cell{Text: strings.TrimSpace(d.Verdict.Mark() + " " + d.ChangeCell(digits).Text), Raw: string(d.Verdict)}
}

// change is how much a quantity changed since the result before, amounts as a share.
func (r *trendRow) change(name string) page.Value {
	if d := r.difference(name); d != nil {
		return d.Value(d.Change)
	}
	return page.Missing(page.Nothing)
}

// Charts show each quantity over the results.
func (t *Trend) Charts() (charts []page.Chart) {
	names := t.configurations()
	for _, q := range t.quantities() {
		c := page.Chart{
			Name: "trend-" + q.name, Title: "Trend: " + q.axis.Name, Beside: "trend", Y: q.axis,
			X:     page.Axis{Name: "result", Kind: page.Category, Labels: t.results},
			About: "The results in order, with 95 % intervals. What is said of a mark compares it with the result before.",
		}
		known := false
		for n, name := range names[:min(len(names), colouredLines)] {
			s := page.Series{Name: name, Tone: page.Tone(n), Line: true}
			for i := range t.rows {
				if row := &t.rows[i]; row.Name == name {
					d := page.Dot{X: page.Known(float64(row.place)), Unnamed: true, More: row.told(q.name), Link: page.Filter(row.terms()...)}
					d.Y, d.YRange = q.of(row)
					known = known || d.Y.Known()
					s.Dots = append(s.Dots, d)
				}
			}
			c.Series = append(c.Series, s)
		}
		if more := len(names) - len(c.Series); more > 0 {
			c.Notes = append(c.Notes, page.Plural(more, "more configuration stands", "more configurations stand")+" in the table alone")
		}
		if known {
			charts = append(charts, c)
		}
	}
	return charts
}

// told is the verdict on a mark.
func (r *trendRow) told(name string) string {
	d := r.difference(name)
	if d == nil {
		return ""
	}
	return verdictWord(d.Verdict) + " compared with " + r.before
}

// configurations are the names of all, in the order in which they were seen.
func (t *Trend) configurations() (names []string) {
	for i := range t.rows {
		if !slices.Contains(names, t.rows[i].Name) {
			names = append(names, t.rows[i].Name)
		}
	}
	return names
}
