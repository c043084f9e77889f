package temporal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// What travels through Temporal is here. All of it is JSON, and small.

// Suite is what a worker finds the suite and its results by.
type Suite struct {
	// Workflow is the id of the suite's workflow.
	Workflow string `json:"workflow"`
	// Spec is where the store has the recipe of the suite, by its digest.
	Spec string `json:"spec"`
	// Records is the folder of the store for the records of this result folder.
	Records string `json:"records"`
	// Agentbench is the version that workers must have.
	Agentbench string `json:"agentbench"`
	// Leased means that the suite has a budget, or that models have limits.
	Leased bool `json:"leased,omitempty"`
	// Session names the ledger that leases are of: when a suite is resumed, that is another one.
	Session string `json:"session,omitempty"`
	// Life is how long a lease holds that is not renewed.
	Life time.Duration `json:"life,omitempty"`
}

// Item is one run that is to be made.
type Item struct {
	ID            string `json:"id"`
	Configuration string `json:"configuration"`
	Task          string `json:"task"`
	Trial         int    `json:"trial"`
	// Trace is the span that the run's belongs to, as the header traceparent of W3C says it.
	Trace string `json:"trace,omitempty"`
	// Live names the events of this session that are shown while runs are in progress; "":
	// they are not followed.
	Live string `json:"live,omitempty"`
	// Again means that the record which a worker made before cannot be used.
	Again bool `json:"again,omitempty"`
}

// Outcome is what became of an item.
type Outcome struct {
	ID string `json:"id"`
	// Record is the name of the record in the store, Digest that of its bytes.
	Record string `json:"record,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Trace is the span of the run, as that of an item.
	Trace string `json:"trace,omitempty"`
	// Failure is why there is no record, Kind is its kind.
	Failure string `json:"failure,omitempty"`
	Kind    string `json:"kind,omitempty"`
	// Warning is a worker's, for the user. It is the outcome of no item.
	Warning string `json:"warning,omitempty"`
}

// Request is what a worker reports to the ledger, and asks of it.
type Request struct {
	Account string       `json:"account"`
	Session string       `json:"session,omitempty"` // of the ledger that is asked; "": whichever there is
	Number  int64        `json:"number"`            // of the request; one that is sent twice counts once
	Paid    record.Usage `json:"paid"`
	Doubt   record.Usage `json:"doubt"`
	Back    pace.Limits  `json:"back"`
	Want    pace.Limits  `json:"want"`
	// Asks means that the worker calls models, and gets a share of their limits.
	Asks   bool `json:"asks,omitempty"`
	Leaves bool `json:"leaves,omitempty"`
}

// Reply is what the ledger answers.
type Reply struct {
	Lent pace.Limits `json:"lent"`
	// Final means that nothing is left, and that nothing will be given back.
	Final bool `json:"final,omitempty"`
	// Short means that others wait for what is given back.
	Short bool `json:"short,omitempty"`
	// Lost means that the account was given up, because it was silent for too long.
	Lost bool `json:"lost,omitempty"`
	// Over means that the session is over.
	Over bool `json:"over,omitempty"`
	// Shares are those of the models' limits, by model. Nil: not yet.
	Shares map[string]command.Limits `json:"shares,omitempty"`
	// Life is how long the lease holds.
	Life time.Duration `json:"life"`
}

// Totals are what workers spent of a budget.
type Totals struct {
	Paid  record.Usage `json:"paid"`
	Doubt record.Usage `json:"doubt"`
}

// mostTravelling is how many bytes of one item or outcome travel at most. Temporal tries a
// larger payload than its own limit of 2 MiB again and again.
const mostTravelling = 64 << 10

// small refuses what is too large to travel.
func small(what string, value any) error {
	text, err := json.Marshal(value)
	if err == nil && len(text) > mostTravelling {
		err = fmt.Errorf("%s takes %d bytes; at most %d travel through Temporal", what, len(text), mostTravelling)
	}
	return err
}

// digest names bytes.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}
