package main

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// tellOvershoot says that more was spent than the suite's budget allows, which
// happens only where calls use more than can be known before they are made.
func (p *program) tellOvershoot(b *pace.Budget) {
	over := b.Overshoot()
	if over == nil {
		return
	}
	limited, spent := fmt.Sprintf("%d %s", over.Limit, over.Resource), fmt.Sprint(over.Spent)
	if over.Resource == pace.Cost {
		limited, spent = dollars(record.Money(over.Limit).Dollars()), dollars(record.Money(over.Spent).Dollars())
	}
	fmt.Fprintf(p.err, "agentbench: warning: the budget of %s was exceeded: %s spent, because calls used more than was reserved for them\n", limited, spent)
}
