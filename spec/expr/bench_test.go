package expr

import "github.com/agentbench/agentbench/engine/expect"

var must = expect.NoError
