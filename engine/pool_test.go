package engine_test

import (
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/executortest"
)

func TestPoolKeepsTheContract(t *testing.T) {
	for _, workers := range []int{1, 4, 64} {
		executortest.Contract(t, engine.Pool{Workers: workers}, workers)
	}
}
