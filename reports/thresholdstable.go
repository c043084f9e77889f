package reports

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// thresholdsTable says which thresholds hold.
func thresholdsTable(verdicts []Verdict) page.Table {
	fields := []page.Field[Verdict]{
		{Column: page.Column{Head: "threshold", Key: "threshold"}, Cell: func(v Verdict) page.Cell { return page.Name(v.Text) }},
		{Column: page.Column{Head: "configuration", Key: "configuration", Optional: true}, Cell: func(v Verdict) page.Cell {
			return page.Name(v.Configuration)
		}},
		{Column: page.Column{Head: "holds", Key: "holds"}, Cell: func(v Verdict) page.Cell { return page.Text(v.holds()) }},
		{Column: page.Column{Head: "numbers", Key: "numbers", Prose: true}, Cell: func(v Verdict) page.Cell { return page.Name(v.numbers()) }},
	}
	t := page.Table{Name: page.Thresholds, Title: "Thresholds", Columns: page.ColumnsOf(fields), Whole: true}
	t.Fill(page.RowsOf(fields, slices.Values(verdicts)))
	return t
}

func (v *Verdict) holds() string {
	switch v.check().State {
	case page.Passed:
		return "yes"
	case page.Failed:
		return "no"
	}
	return "cannot tell"
}

// numbers are what was read, and what was wrong.
func (v *Verdict) numbers() string {
	if v.Err != nil {
		return v.Err.Error()
	}
	return v.Detail
}

// named is the threshold with the configuration that it was judged of.
func (v *Verdict) named() string {
	if v.Configuration == "" {
		return v.Text
	}
	return v.Text + " of " + v.Configuration
}

// check is the threshold as a check.
func (v *Verdict) check() page.Check {
	c := page.Check{Group: page.Thresholds, Name: v.named(), State: page.Passed, Message: v.numbers(), Loud: true}
	switch {
	case v.Err != nil:
		c.State = page.Errored
	case !v.OK:
		c.State = page.Failed
	}
	return c
}

// eachCheck yields the thresholds as checks, and says whether to go on.
func eachCheck(verdicts []Verdict, yield func(page.Check) bool) bool {
	for i := range verdicts {
		if !yield(verdicts[i].check()) {
			return false
		}
	}
	return true
}

// answerOf says whether all thresholds hold.
func answerOf(verdicts []Verdict) page.Answer {
	count := map[page.State]int{}
	for i := range verdicts {
		count[verdicts[i].check().State]++
	}
	all := page.Plural(len(verdicts), "threshold", "thresholds")
	switch {
	case len(verdicts) == 0:
		return page.Answer{State: page.Skipped, Text: "there are no thresholds"}
	case count[page.Errored] > 0:
		return page.Answer{State: page.Errored, Text: fmt.Sprintf("%d of %s cannot be judged", count[page.Errored], all)}
	case count[page.Failed] == 1:
		return page.Answer{State: page.Failed, Text: fmt.Sprintf("1 of %s does not hold", all)}
	case count[page.Failed] > 0:
		return page.Answer{State: page.Failed, Text: fmt.Sprintf("%d of %s do not hold", count[page.Failed], all)}
	}
	if len(verdicts) == 1 {
		return page.Answer{State: page.Passed, Text: "the threshold holds"}
	}
	return page.Answer{State: page.Passed, Text: "all " + all + " hold"}
}

// MarshalJSON writes the threshold, the configuration that it was judged of where
// it reads diff, its state (passed, failed or error), whether it holds over the
// intervals (throughout, in_part, possibly, nowhere), and what was read.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenVerdict{v.Text, v.Configuration, v.check().State, v.Holding, v.numbers()})
}

// writtenVerdict is a verdict as JSON.
type writtenVerdict struct {
	Threshold     string     `json:"threshold"`
	Configuration string     `json:"configuration,omitempty"`
	State         page.State `json:"state"`
	Interval      Holding    `json:"interval,omitempty"`
	Numbers       string     `json:"numbers,omitempty"`
}
