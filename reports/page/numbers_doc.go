// Package numbers decides how a number is shown, and that one which is missing
// stays missing: it says why, and is never 0.

package page
