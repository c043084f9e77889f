package reports

import "io"

// WriteDiff writes a comparison.
func WriteDiff(w io.Writer, c *Comparison, options Options) error { return Write(w, c, options) }
