package scorers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	violated "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// violation is one thing in a value that a schema does not allow.
type violation struct {
	where []string // the keys and indices that lead to it
	rank  int      // of those at one place, the lower tells more
	what  string
}

// firstViolation tells what a validation found. Validation visits keys at random; to tell the same thing every time,
// this is the first by its place.
func firstViolation(err error) string {
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return short(err.Error(), maxAnswer)
	}
	first := slices.MinFunc(violations(wrong, nil), func(a, b violation) int {
		return cmp.Or(slices.Compare(a.where, b.where), cmp.Compare(a.rank, b.rank), cmp.Compare(a.what, b.what))
	})
	place := ""
	for _, key := range first.where {
		place += "/" + key
	}
	if place == "" {
		return short(first.what, maxAnswer)
	}
	return short(fmt.Sprintf("at %s: %s", place, first.what), maxAnswer)
}

// violations are the causes that have no cause themselves.
func violations(e *jsonschema.ValidationError, found []violation) []violation {
	if len(e.Causes) == 0 {
		return append(found, violation{e.InstanceLocation, rank(e), message(e)})
	}
	for _, cause := range e.Causes {
		found = violations(cause, found)
	}
	return found
}

// rank is higher for a wrong type, which alternatives (anyOf, oneOf) that were not meant complain of.
func rank(leaf *jsonschema.ValidationError) int {
	if _, ok := leaf.ErrorKind.(*violated.Type); ok {
		return 1
	}
	return 0
}

func message(leaf *jsonschema.ValidationError) string {
	if more, ok := leaf.ErrorKind.(*violated.AdditionalProperties); ok {
		slices.Sort(more.Properties)
	}
	return leaf.BasicOutput().Error.String()
}
