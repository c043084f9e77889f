package model

import (
	"context"
	"strconv"
)

type besideKey struct{}

// Beside prepares calls that are made beside others of the same run. Which of
// several equal requests one of them is must not depend on which came first:
// those of each place follow one another, and are numbered for themselves.
func Beside(ctx context.Context, place int) context.Context {
	return context.WithValue(ctx, besideKey{}, Place(ctx)+"/"+strconv.Itoa(place))
}

// Place tells calls apart that are made beside each other; "": nothing is beside.
func Place(ctx context.Context) string {
	place, _ := ctx.Value(besideKey{}).(string)
	return place
}
