package reports

import (
	"encoding/json"
	"fmt"
	"slices"
)

// thresholdsTable says which thresholds hold.
func thresholdsTable(verdicts []Verdict) table {
	fields := []field[Verdict]{
		{column{head: "threshold", key: "threshold"}, func(v Verdict) cell { return ofName(v.Text) }},
		{column{head: "configuration", key: "configuration", optional: true}, func(v Verdict) cell { return ofName(v.Configuration) }},
		{column{head: "holds", key: "holds"}, func(v Verdict) cell { return ofText(v.holds()) }},
		{column{head: "numbers", key: "numbers", prose: true}, func(v Verdict) cell { return ofName(v.numbers()) }},
	}
	t := table{name: thresholdsGroup, title: "Thresholds", columns: columnsOf(fields), whole: true}
	t.fill(rowsOf(fields, slices.Values(verdicts)))
	return t
}

func (v *Verdict) holds() string {
	switch v.check().state {
	case passed:
		return "yes"
	case failed:
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
func (v *Verdict) check() check {
	c := check{group: thresholdsGroup, name: v.named(), state: passed, message: v.numbers(), loud: true}
	switch {
	case v.Err != nil:
		c.state = errored
	case !v.OK:
		c.state = failed
	}
	return c
}

// eachCheck yields the thresholds as checks, and says whether to go on.
func eachCheck(verdicts []Verdict, yield func(check) bool) bool {
	for i := range verdicts {
		if !yield(verdicts[i].check()) {
			return false
		}
	}
	return true
}

// answerOf says whether all thresholds hold.
func answerOf(verdicts []Verdict) answer {
	count := map[state]int{}
	for i := range verdicts {
		count[verdicts[i].check().state]++
	}
	all := plural(len(verdicts), "threshold", "thresholds")
	switch {
	case len(verdicts) == 0:
		return answer{skipped, "there are no thresholds"}
	case count[errored] > 0:
		return answer{errored, fmt.Sprintf("%d of %s cannot be judged", count[errored], all)}
	case count[failed] == 1:
		return answer{failed, fmt.Sprintf("1 of %s does not hold", all)}
	case count[failed] > 0:
		return answer{failed, fmt.Sprintf("%d of %s do not hold", count[failed], all)}
	}
	if len(verdicts) == 1 {
		return answer{passed, "the threshold holds"}
	}
	return answer{passed, "all " + all + " hold"}
}

// MarshalJSON writes the threshold, the configuration that it was judged of where
// it reads diff, its state (passed, failed or error), whether it holds over the
// intervals (throughout, in_part, possibly, nowhere), and what was read.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenVerdict{v.Text, v.Configuration, v.check().state, v.Holding, v.numbers()})
}

// writtenVerdict is a verdict as JSON.
type writtenVerdict struct {
	Threshold     string  `json:"threshold"`
	Configuration string  `json:"configuration,omitempty"`
	State         state   `json:"state"`
	Interval      Holding `json:"interval,omitempty"`
	Numbers       string  `json:"numbers,omitempty"`
}
