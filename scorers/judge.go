package scorers

import "context"

// judge will ask a model. Until it does, its scores say so.
func judge(*compiler) comparison {
	return func(context.Context, *subject) verdict {
		return unscored("scorers of type judge are not supported yet")
	}
}
