// Package expr decides what the expressions of a suite mean: it compiles CEL against the typed environment of the
// place where the expression stands, refuses what is wrong or could run away, and evaluates the rest on plain values.
//
// The stages: a [Type] describes a variable, [NewEnv] makes an environment of variables, [Env.Compile] and
// [Env.Template] check a text and give a [Program] or a [Template] or the [Fault] list, and those are evaluated on a
// [Scope]. places.go holds the environments of the language.
//
// # Values
//
// Plain values are nil, bool, float64, int64, string, [time.Duration], []any and [*Object], which keeps the order of its
// keys. Numbers of JSON are always float64; counters of ours are int64. A scope may also hand out [Fields] for struct
// types and [List] for lists that it does not want to copy.
//
// # Language
//
// Standard CEL with comparisons across number types, optionals (a.?b.orValue(0.0)), cel.bind, two-variable
// comprehensions, and cel-go's libraries strings, math, lists, sets and regex. Keys of maps are strings, and every
// comprehension over a map visits its keys in the order in which they were written. Functions of our own:
//
//   - mean(list) double: the mean of the numbers of the list; nulls are skipped, an empty list is an error.
//   - sum(list) double: their sum; 0.0 for an empty list.
//   - json(value) string: the value as JSON on one line.
//
// # JSON Schemas
//
// [CompileSchema] reads the schemas of arguments and answers ([JSONSchema]).
//
// # Limits
//
// An expression is at most 4,096 characters and 40 levels deep. When it is compiled its cost is estimated (see
// cost.go); an estimate above 1,000,000 is a fault. What is left runs under a cost limit (see meter.go), unless its
// estimate proves it cheap. A regular expression is bounded before it searches (pattern.go), and its steps are part
// of the cost. There is a deadline, far beyond: results must not depend on how busy the machine is.
package expr
