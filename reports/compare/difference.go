package compare

import (
	"cmp"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Difference compares both sides in one quantity. It is a row of every table and of JSON,
// where numbers that are not known are null.
type Difference struct {
	Quantity
	// Base and New are the means of the tasks' means over what was compared.
	Base Number `json:"base"`
	New  Number `json:"new"`
	// Change is New - Base, or, where Relative, the ratio of both, New / Base - 1.
	// Low and High are the ends of its 95 % interval.
	Change   Number `json:"change"`
	Low      Number `json:"low"`
	High     Number `json:"high"`
	Relative bool   `json:"relative"`
	// P is two-sided. Adjusted is P corrected for the comparisons made at once;
	// verdicts are by it.
	P        Number `json:"p"`
	Adjusted Number `json:"p_adjusted"`
	// Test names the procedure that P is of; Method reports whether it is exact,
	// "Monte Carlo" or approximate.
	Test   Test         `json:"test,omitempty"`
	Method stats.Method `json:"method,omitempty"`
	// Paired is true if runs of the same task and trial were compared; else all
	// runs of one side with all of the other.
	Paired bool `json:"paired"`
	// Tasks is how many tasks were compared, BaseTasks those of the base side: as
	// many where they are paired.
	Tasks     int `json:"tasks"`
	BaseTasks int `json:"base_tasks"`
	// Runs is how many pairs of runs were compared, LeftOut how many had no value
	// on a side and were left out. Where tasks are not paired they are runs of
	// either side.
	Runs    int `json:"runs"`
	LeftOut int `json:"left_out"`
	// Wins are tasks at which the new side is better, Losses those at which it is
	// worse, Ties those at which both are equal to 1e-9. All are 0 where not
	// paired.
	Wins   int `json:"wins"`
	Losses int `json:"losses"`
	Ties   int `json:"ties"`
	// Gated is for callers that fail if this difference does.
	Gated   bool    `json:"gated"`
	Verdict Verdict `json:"verdict"`
	// Margin is the smallest change that matters, in the unit of Change.
	Margin float64 `json:"margin"`
	// NotWorse is true if the interval shows the new side to be worse by less than
	// Margin, if at all: non-inferiority. What is better or the same is not worse.
	NotWorse bool `json:"not_worse"`
	// Needed is how many tasks it would take to show, with a power of 0.8, a
	// change of the size seen; 0 where the change is shown or nothing is known,
	// Beyond where it is more than a million.
	Needed int `json:"tasks_needed"`
	// Clusters is how many clusters the tasks compared are in, BaseClusters those
	// of the base side; 0: every task is its own. ClustersNeeded is Needed in
	// clusters of the present size.
	Clusters       int `json:"clusters,omitempty"`
	ClustersNeeded int `json:"clusters_needed,omitempty"`
	BaseClusters   int `json:"-"`
	// TooFew is true if, with so few tasks that differ, Differing and not Fewest, no
	// outcome could have been shown at alpha. Where the tasks have clusters, these
	// are what is counted.
	TooFew    bool `json:"too_few"`
	Differing int  `json:"-"`
	Fewest    int  `json:"-"`
	// Contrary is true if the test shows a difference, and another way than the
	// change, as ranks may beside a mean: then nothing is better or worse.
	Contrary bool `json:"contrary,omitempty"`
	// AssumesNoRareLoss is true if it is a score without a scale from 0 to 1: its interval is
	// Student's, which knows nothing of a large loss that it did not see.
	AssumesNoRareLoss bool `json:"assumes_no_rare_loss,omitempty"`
	// Binary is true if it is a score and all values compared are 0 or 1.
	Binary bool `json:"-"`
	// Missing is why there is nothing to compare; "" where there is.
	Missing string `json:"-"`
	// Flips are the tasks whose mean of a binary score changed, those that got
	// worse first, then by how much. They are of paired differences only.
	Flips []Flip `json:"-"`

	needed float64 // as Needed and TooFew, whatever the verdict; not rounded
	tooFew bool
	// contrary is as Contrary, whether the test shows anything or not.
	contrary bool
}

// Number is NaN where it is not known, which is null in JSON.
type Number float64

// MarshalJSON writes the number with twelve digits that count, or null.
func (n Number) MarshalJSON() ([]byte, error) { return page.ValueOf(float64(n), true).MarshalJSON() }

// Value is a number of the difference for people; where it is not known, with the reason.
func (d *Difference) Value(n Number) page.Value {
	v := page.ValueOf(float64(n), true)
	if !v.Known() {
		v.Missing = cmp.Or(d.Missing, v.Missing)
	}
	return v
}

// Interval is that of the change.
func (d *Difference) Interval() page.Range {
	return page.Range{Low: d.Value(d.Low), High: d.Value(d.High)}
}

// ShownDigits is how many digits of scores are shown when they are compared.
const ShownDigits = 3

// Mean is a cell of Base or New.
func (d *Difference) Mean(n Number, dollarDigits int) page.Cell {
	return page.Number(d.Value(n), func(v page.Value) string {
		switch {
		case d.Score:
			return page.Score(v, ShownDigits)
		case d.Name == "cost_usd":
			return page.Dollars(v, dollarDigits)
		case d.Name == "latency_s":
			return page.Seconds(v)
		}
		return page.Whole(v)
	})
}

// ChangeCell is a cell of the change. Why it is not known is left to other cells.
func (d *Difference) ChangeCell(dollarDigits int, warnings ...page.Warning) page.Cell {
	return page.Number(d.Value(d.Change), page.Or(page.Nothing, d.changeForm(dollarDigits)), warnings...)
}

// changeForm shows changes in the unit of the quantity, ratios in per cent.
func (d *Difference) changeForm(dollarDigits int) func(page.Value) string {
	switch {
	case d.Relative:
		return page.Relative
	case d.Score:
		return func(v page.Value) string { return page.Gain(v, ShownDigits) }
	case d.Name == "cost_usd":
		return func(v page.Value) string { return page.ExtraDollars(v, dollarDigits) }
	case d.Name == "latency_s":
		return page.ExtraSeconds
	}
	return page.ExtraCount
}

// IntervalText shows the interval of the change.
func (d *Difference) IntervalText(dollarDigits int) string {
	if r := d.Interval(); r.Low.Known() && r.High.Known() {
		return r.OfChange(d.changeForm(dollarDigits))
	}
	return page.Nothing
}

// Judgement is the verdict for people: "~" where it is inconclusive, and with how many
// tasks it would show.
func (d *Difference) Judgement() string {
	switch {
	case d.Verdict != CannotTell:
		return string(d.Verdict)
	case d.Needed == 0, d.Value(d.Change).Number == 0:
		return "~"
	case d.Needed == Beyond:
		return "~ >1M tasks"
	}
	n, of := d.Needed, " tasks"
	if d.Clusters > 0 {
		n, of = d.ClustersNeeded, " clusters"
	}
	return "~ " + strings.Replace(page.Whole(page.Known(float64(n))), ".0", "", 1) + of
}

// Flip is a task whose success changed.
type Flip struct {
	Task string `json:"task"`
	Base Number `json:"base"` // means over the runs paired
	New  Number `json:"new"`
	// BaseAt and NewAt are the numbers of the task in Side.Tasks.
	BaseAt int32 `json:"-"`
	NewAt  int32 `json:"-"`
}

// Test is a procedure that gives a p value.
type Test string

// The Tests.
const (
	McNemar     Test = "mcnemar"      // exact, of binary scores of one trial
	SignFlip    Test = "sign_flip"    // of the tasks' differences
	Student     Test = "t"            // the same, of more than 2,000 that are not 0
	Welch       Test = "welch"        // of tasks that are not paired
	MannWhitney Test = "mann_whitney" // the same, of amounts without clusters
)

// Verdict is what a difference says.
type Verdict string

// The Verdicts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Same       Verdict = "same" // within the margin
	CannotTell Verdict = "cannot_tell"
)

// Mark is the verdict in a table: "~" where it is inconclusive.
func (v Verdict) Mark() string {
	if v == CannotTell {
		return "~"
	}
	return string(v)
}

// Beyond is Needed where more than a million tasks are needed.
const Beyond = -1
