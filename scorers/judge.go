package scorers

import "context"

// judge will ask a model. Until it does, its scores say so; it judges the run alone, since each judgement is paid for.
func judge(c *compiler) comparison {
	c.made.runOnly = true
	return func(context.Context, *subject) verdict {
		return unscored("scorers of type judge are not supported yet")
	}
}
