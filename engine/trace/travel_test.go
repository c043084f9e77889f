package trace

import "testing"

// A span of another process is where a context goes on, and what is known of a run that was
// made there.
func TestSpansTravel(t *testing.T) {
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := With(t.Context(), &Tracing{})
	if got := Parent(Within(ctx, span)); got != span {
		t.Errorf("it goes on in %q", got)
	}
	Elsewhere(ctx, "c/t/1", span)
	if got := SpanOf(ctx, "c/t/1"); got != span {
		t.Errorf("the run has the span %q", got)
	}
	for _, none := range []string{"", "00-0-0-00", "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		Elsewhere(ctx, "other", none)
		if parent, known := Parent(Within(ctx, none)), SpanOf(ctx, "other"); parent != "" || known != "" {
			t.Errorf("%q leads to %q and %q", none, parent, known)
		}
	}
	Elsewhere(t.Context(), "c/t/1", span) // nobody traces
	if got := SpanOf(t.Context(), "c/t/1"); got != "" {
		t.Errorf("nobody traces, and the run has the span %q", got)
	}
}
