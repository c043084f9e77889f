package scorers

import (
	"cmp"
	"context"
)

// command takes the score from a program, which reads the run as JSON and writes its score as JSON. An exit status other
// than 0 is a failure, not a verdict.
func command(c *compiler) comparison {
	if c.all.outside == nil {
		return c.unable(errNobody)
	}
	program := c.all.outside.Program(c.spec.Command, cmp.Or(c.spec.Timeout, defaultTimeout))
	return c.asked(func(ctx context.Context, request []byte) ([]byte, error) {
		done, err := program.Run(ctx, request)
		return done.Stdout, err
	})
}
