// Package replay decides what another configuration would have done with a
// recorded run. It reaches no model, no tool and no network.
//
// A run is a path: what the agent was sent, what it answered, how that was
// judged. Decisions are a pure function of that path (package stop), so a
// recorded run answers for every configuration that takes the same path and
// stops no later. Replay walks the record under the rules of the other
// configuration, iteration by iteration, and asks at each:
//
//   - Would it send the same? A Renderer renders the request again; its hash is
//     held against the recorded one. Without a Renderer, texts and settings are
//     compared as they are declared, and what the prompts read is looked at: that
//     is never less careful. What no hash shows (tools, timeouts of a call, how a
//     reply is read) is compared as it is declared in both cases.
//     Of an agent that converses every request of the iteration is rendered again,
//     given what the record answers to those before it; a step at which the two
//     part leaves the steps before it known. Tools, delegates and the user are
//     compared as they are declared, where they were used.
//   - Would it judge the same? Where not, a Judge judges the recorded output
//     again, if it can do so without a call.
//   - Would it be cut inside the iteration: by a timeout that cancels, by a hard
//     budget without room for the next call? The record has the times and the
//     reservation of every call. A guard that looks at steps cuts a conversation
//     after one of them.
//   - Does it stop after the iteration? Package stop decides, as it does live.
//
// The verdict is Exact where the stop is known; Branches at an iteration where
// the configuration would send or judge something that the record does not have,
// so that new calls are needed; Censored where it wanted to go on and the record
// was cut by its own limits. An agent that ended by itself censors nothing. A run
// that ended before an iteration, because the agent had nothing more to give or a
// budget had no room, left the request of that iteration behind.
//
// A stop inside an iteration returns the one before it, and what was spent is a
// Span where a call was in flight: nobody knows what a call costs that is
// cancelled. Everything else is a point.
//
// The label of a configuration is the worst of its runs: Counterfactual (the
// agent was told its limits, and not in a request that could be rendered again),
// else NeedsCalls, else Bounded, else PointExact. Bounded is an interval, never a
// point.
//
// The conditions of STATISTICS, where they are checked: C1, blind, by the
// requests, by what prompts read and by Options.Announced; C2, earlier, by the
// walk, which never goes past the record; C3, scored, is the caller's: the result
// names the iteration returned, whose score may be known or not; C4, isolated,
// holds for runs made here, which share nothing but the suite's budget, and a run
// that it ended is censored.
//
// Thousands of configurations that differ only in when a run stops are counted at
// once: each run is walked once without any limit (a Path), Points collects their
// conditions and guards, a Tracer evaluates these on the path, a Table has each of
// them as bits over runs and iterations, and Count combines the bits. Any is OR, all
// is AND at the same iteration, and a run stops at its lowest bit. Stages, and timeouts that
// cancel, are part of the path: configurations that differ in them are walked for
// themselves. Hard budgets, and prompts that read what they change, are left to the
// walk of each configuration, and a test holds the one to the other.
//
// The files, in order: replay.go (what is asked and answered), walk.go (the walk),
// inside.go (what cuts an iteration), conversation.go (what becomes of the steps of
// one whose agent converses), talkers.go (in what such agents differ), end.go (where the record ends), sent.go and
// judged.go (whether the path is the same), lump.go (what only whole runs tell), difference.go (in what two loops
// differ), declared.go (comparing what is declared), signals.go (records without
// texts), label.go (many runs), analysis.go (which parameters can be replayed at
// all), apart.go (whether two recordings tell of the same); path.go, points.go,
// trace.go, table.go, count.go and reasons.go (many configurations).
package replay
