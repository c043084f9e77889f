package stats_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
)

// arguments are whatever a caller may come with.
type arguments struct {
	x, y       []float64
	groups     [][]float64
	forecasts  []stats.Forecast
	rows       [][]stats.Point
	a, b, c, d int
	p, q, r    float64
}

func anyArguments(t *rapid.T) (a arguments) {
	strange := rapid.SampledFrom([]float64{
		0, 1, -1, 0.5, 0.95, 1e-9, 1e9, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1),
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-200, 1e200, 0.1 + 0.2, 0.3,
	})
	small := rapid.Map(rapid.IntRange(-4, 8), func(n int) float64 { return float64(n) / 4 })
	number := rapid.SampledFrom([]*rapid.Generator[float64]{
		rapid.OneOf(strange, rapid.Float64()), small, rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1}),
	}).Draw(t, "kind")
	whole := rapid.OneOf(rapid.IntRange(-2, 12), rapid.SampledFrom([]int{100, math.MaxInt, math.MinInt}))
	a.x = rapid.SliceOfN(number, 0, 24).Draw(t, "x")
	a.y = rapid.SliceOfN(number, 0, 24).Draw(t, "y")
	if rapid.Bool().Draw(t, "alike") {
		a.y = a.y[:min(len(a.x), len(a.y))]
		a.x = a.x[:len(a.y)]
	}
	a.groups = rapid.SliceOfN(rapid.SliceOfN(number, 0, 5), 0, 6).Draw(t, "groups")
	for i, x := range a.x {
		y := x
		if i < len(a.y) {
			y = a.y[i]
		}
		a.forecasts = append(a.forecasts, stats.Forecast{Probability: x, Outcome: y})
	}
	for _, group := range a.groups {
		var row []stats.Point
		for i := range group {
			row = append(row, stats.Point{Cost: group[i], Quality: group[len(group)-1-i]})
		}
		a.rows = append(a.rows, row)
	}
	a.a, a.b, a.c, a.d = whole.Draw(t, "a"), whole.Draw(t, "b"), whole.Draw(t, "c"), whole.Draw(t, "d")
	level := rapid.OneOf(rapid.SampledFrom([]float64{0.05, 0.8, 0.95, 0.99}), strange)
	a.p, a.q, a.r = level.Draw(t, "p"), level.Draw(t, "q"), level.Draw(t, "r")
	return a
}

// answer is what a procedure gave: numbers, of which none may be NaN.
type answer struct {
	numbers []float64
	// ordered, chances and open say what else numbers are: both ends of an
	// interval, between 0 and 1, or infinite at times.
	ordered, chances, open bool
	ok                     bool
}

func number(x float64, ok bool) answer { return answer{numbers: []float64{x}, ok: ok} }
func chance(x float64, ok bool) answer { return answer{numbers: []float64{x}, chances: true, ok: ok} }
func all(x []float64, ok bool) answer  { return answer{numbers: x, ok: ok} }
func test(x stats.Test, ok bool) answer {
	return answer{numbers: []float64{x.P}, chances: true, ok: ok}
}
func several(ok bool, x ...int) answer    { return answer{numbers: toFloats(x), ok: ok} }
func chances(x []float64, ok bool) answer { return answer{numbers: x, chances: true, ok: ok} }
func interval(x stats.Interval, ok bool) answer {
	return answer{numbers: []float64{x.Low, x.High}, ordered: true, ok: ok}
}
func open(x stats.Interval, ok bool) answer {
	return answer{numbers: []float64{x.Low, x.High}, ordered: true, open: true, ok: ok}
}
func estimate(x stats.Estimate, ok bool) answer {
	return answer{numbers: []float64{x.Value, x.SE, x.Degrees}, ok: ok}
}

func toFloats(whole []int) (values []float64) {
	for _, w := range whole {
		values = append(values, float64(w))
	}
	return values
}

// modest keeps what is asked for within what a caller would ask for: it takes
// as much time, or memory.
func modest(n int) int { return min(n, 1000) }

// bounded is a sample of one large unit and small ones.
func (a arguments) bounded() (*stats.Bounded, bool) {
	units := []stats.Units{{Sum: a.p, Size: a.q, Count: 1}}
	for _, x := range a.x {
		units = append(units, stats.Units{Sum: x, Size: 1, Count: 1})
	}
	return stats.NewBounded(units, -1, 1)
}

func bounds(of func(b *stats.Bounded, a arguments) answer) func(a arguments) answer {
	return func(a arguments) answer {
		if b, ok := a.bounded(); ok {
			return of(b, a)
		}
		return answer{}
	}
}

var procedures = map[string]func(a arguments) answer{
	"NormalQuantile":  func(a arguments) answer { return number(stats.NormalQuantile(a.p)) },
	"StudentQuantile": func(a arguments) answer { return number(stats.StudentQuantile(a.p, a.q)) },
	"Sum":             func(arguments) answer { return answer{} }, // has no ok: it is NaN where a value is
	"Mean":            func(a arguments) answer { return number(stats.Mean(a.x)) },
	"Ratio":           func(a arguments) answer { return number(stats.Ratio(a.p, a.q)) },
	"LogRatio":        func(a arguments) answer { return estimate(stats.LogRatio(a.x, a.y)) },
	"Quantile":        func(a arguments) answer { return number(stats.Quantile(slices.Sorted(slices.Values(a.x)), a.p)) },
	"Variance":        func(a arguments) answer { return number(stats.Variance(a.x)) },
	"StandardError":   func(a arguments) answer { return number(stats.StandardError(a.x)) },
	"MeanOf":          func(a arguments) answer { return estimate(stats.MeanOf(a.x)) },
	"MeanInterval":    func(a arguments) answer { return interval(stats.MeanInterval(a.x, a.p)) },
	"Estimate.Interval": func(a arguments) answer {
		return interval(stats.Estimate{Value: a.p, SE: a.q, Degrees: a.r}.Interval(0.95))
	},
	"Estimate.Minus": func(a arguments) answer {
		return estimate(stats.Estimate{Value: a.p, SE: a.q, Degrees: a.r}.Minus(stats.Estimate{Value: a.q, SE: a.r, Degrees: a.p}))
	},
	"Estimate.Test": func(a arguments) answer { return test(stats.Estimate{Value: a.p, SE: a.q, Degrees: a.r}.Test()) },
	"Estimate.Proportion": func(a arguments) answer {
		return interval(stats.Estimate{Value: a.p, SE: a.q, Degrees: a.r}.Proportion(float64(a.a), a.b, 0.95))
	},
	"ClusteredSE":   func(a arguments) answer { return number(stats.ClusteredSE(a.groups)) },
	"ClusteredMean": func(a arguments) answer { return estimate(stats.ClusteredMean(a.groups)) },
	"VarianceComponents": func(a arguments) answer {
		c, ok := stats.VarianceComponents(a.groups)
		return all([]float64{c.Between, c.Within}, ok)
	},
	"Wilson":           func(a arguments) answer { return interval(stats.Wilson(a.p, a.q, a.r)) },
	"NewBounded":       func(a arguments) answer { _, ok := a.bounded(); return answer{ok: ok} },
	"Bounded.AtMost":   bounds(func(b *stats.Bounded, a arguments) answer { return number(b.AtMost(0.95), true) }),
	"Bounded.Interval": bounds(func(b *stats.Bounded, a arguments) answer { return interval(b.Interval(0.95), true) }),
	"Bounded.Losing": bounds(func(b *stats.Bounded, a arguments) answer {
		return number(b.Losing([]stats.Units{{Sum: 0.5, Size: 1, Count: 1}}).AtMost(0.95), true)
	}),
	"Bounded.Minus":          bounds(func(b *stats.Bounded, a arguments) answer { return interval(b.Minus(b, 0.95), true) }),
	"Bounded.Shows":          bounds(func(b *stats.Bounded, a arguments) answer { b.Shows(a.p, a.q); return answer{} }),
	"Bounded.Needed":         bounds(func(b *stats.Bounded, a arguments) answer { return number(b.Needed(a.p, 0.95)) }),
	"ProportionInterval":     func(a arguments) answer { return interval(stats.ProportionInterval(a.groups, a.p)) },
	"MeanProportionInterval": func(a arguments) answer { return interval(stats.MeanProportionInterval(a.x, a.a, a.p)) },
	"EffectiveN":             func(arguments) answer { return answer{} }, // has no ok: Wilson refuses what it gives
	"McNemar":                func(a arguments) answer { return test(stats.McNemar(a.a, a.b)) },
	"BonettPrice":            func(a arguments) answer { return interval(stats.BonettPrice(a.a, a.b, a.c, a.p)) },
	"SignFlip":               func(a arguments) answer { return test(stats.SignFlip(a.x, 1)) },
	"MannWhitney":            func(a arguments) answer { return test(stats.MannWhitney(a.x, a.y)) },
	"Holm":                   func(a arguments) answer { return chances(stats.Holm(a.x)) },
	"BenjaminiHochberg":      func(a arguments) answer { return chances(stats.BenjaminiHochberg(a.x)) },
	"Power.Needed":           func(a arguments) answer { return number(a.power().Needed(a.r, a.q)) },
	"Power.Detectable":       func(a arguments) answer { return number(a.power().Detectable(a.r, a.q)) },
	"Power.NeededMcNemar":    func(a arguments) answer { return number(a.power().NeededMcNemar(a.r, a.q)) },
	"PairedVariance.Value":   func(a arguments) answer { return number(stats.PairedVariance{a.p, a.q, a.r, a.a, a.b}.Value()) },
	"MedianOrders": func(a arguments) answer {
		low, high, coverage, ok := stats.MedianOrders(a.a, a.p)
		return answer{numbers: []float64{float64(low), float64(high), coverage}, ok: ok}
	},
	"PassAtK":  func(a arguments) answer { return chance(stats.PassAtK(modest(a.a), a.b, a.c)) },
	"PassHatK": func(a arguments) answer { return chance(stats.PassHatK(modest(a.a), a.b, a.c)) },
	"BestOfK":  func(a arguments) answer { return number(stats.BestOfK(a.x, a.y, modest(a.a))) },
	"Majority": func(a arguments) answer {
		answers := make([]uint64, len(a.y))
		for i := range answers {
			answers[i] = uint64(i % 3)
		}
		return number(stats.Majority(answers, a.x, 2))
	},
	"Brier":         func(a arguments) answer { return number(stats.Brier(a.forecasts)) },
	"AUROC":         func(a arguments) answer { return number(stats.AUROC(a.forecasts)) },
	"AUROCInterval": func(a arguments) answer { return interval(stats.AUROCInterval(a.clusters(), a.p)) },
	"Evidence":      func(a arguments) answer { return number(stats.Evidence(a.a, a.b, a.p)) },
	"MeanEvidence":  func(a arguments) answer { return number(stats.MeanEvidence(a.x, a.p)) },
	"Front": func(a arguments) answer {
		if len(a.rows) == 0 {
			return answer{}
		}
		return several(true, stats.Front(a.rows[0])...)
	},
	"SequentialEvidence": func(a arguments) answer {
		evidence, after, way, ok := stats.SequentialEvidence(a.x, a.p)
		return answer{numbers: []float64{evidence, float64(after), float64(way)}, ok: ok}
	},
	"Standings": func(a arguments) answer {
		points := slices.Concat(a.rows...)
		all, err := stats.Standings(points, func(at int) ([]stats.Point, error) { return points[at : at+1], nil }, func(at int) bool { return at == a.a }, 1)
		var shares []float64
		for _, s := range all {
			if !math.IsNaN(s.Share) {
				shares = append(shares, s.Share)
			}
		}
		return chances(shares, err == nil)
	},
	"FrontShares": func(a arguments) answer { return chances(stats.FrontShares(a.rows, min(a.a, 100), 1)) },
	"SuccessiveHalving": func(a arguments) answer {
		rungs, ok := stats.SuccessiveHalving(a.a, a.b, a.c, a.d)
		return several(ok, len(rungs))
	},
	"Resample":        func(a arguments) answer { stats.Resample(a.a, modest(a.b), 1); return answer{} },
	"Resamples.Ratio": func(a arguments) answer { return open(stats.Resample(len(a.x), 50, 1).Ratio(a.x, a.y, a.p)) },
	"Bootstrap": func(a arguments) answer {
		return open(stats.Bootstrap(len(a.x), 50, 1, func(drawn []uint8) (float64, bool) {
			return stats.Mean(a.x[:min(len(a.x), int(drawn[0]))])
		}, a.p))
	},
	"Same":            func(a arguments) answer { return chance(stats.Same(a.p, a.q), true) },
	"Near":            func(arguments) answer { return answer{} }, // has no ok: it is NaN where a rating is
	"Kappa":           func(a arguments) answer { return estimate(stats.Kappa(a.rated(), a.weight())) },
	"KappaInterval":   func(a arguments) answer { return interval(stats.KappaInterval(a.rated(), a.weight(), a.p, 1)) },
	"ExpandedRatio":   func(a arguments) answer { return open(stats.ExpandedRatio(a.x, a.y, a.p)) },
	"PercentileLevel": func(arguments) answer { return answer{} }, // has no ok: it gives the level where there is none
}

// rated are ratings of things in threes.
func (a arguments) rated() (clusters [][]stats.Rated) {
	var all []stats.Rated
	for i := range min(len(a.x), len(a.y)) {
		all = append(all, stats.Rated{A: a.x[i], B: a.y[i]})
	}
	return slices.Collect(slices.Chunk(all, 3))
}

func (a arguments) weight() stats.Weight {
	if a.a%2 == 0 {
		return stats.Same
	}
	return stats.Near
}

// clusters are the forecasts in threes.
func (a arguments) clusters() (clusters [][]stats.Forecast) {
	return slices.Collect(slices.Chunk(a.forecasts, 3))
}

func (a arguments) power() stats.Power { return stats.Power{Alpha: a.p, Power: 0.8} }

// Whatever comes, there is an answer in numbers, or none.
func answerAll(t *rapid.T) {
	a := anyArguments(t)
	for _, name := range slices.Sorted(maps.Keys(procedures)) {
		got := procedures[name](a)
		if !got.ok {
			continue
		}
		for _, x := range got.numbers {
			if math.IsNaN(x) || math.IsInf(x, 0) && !got.open || got.chances && !(x >= -1e-12 && x <= 1+1e-12) {
				t.Fatalf("%s of %+v gives %v", name, a, got.numbers)
			}
		}
		if got.ordered && got.numbers[0] > got.numbers[1] {
			t.Fatalf("%s of %+v gives %v", name, a, got.numbers)
		}
	}
}

func TestProceduresAnswerInNumbersOrNotAtAll(t *testing.T) { propertytest.Check(t, answerAll) }

func FuzzProcedures(f *testing.F) { f.Fuzz(rapid.MakeFuzz(answerAll)) }

func TestAllProceduresAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && function.Name.IsExported() {
				declared++
				if name := receiver(function) + function.Name.Name; procedures[name] == nil {
					t.Errorf("%s: %s is not held to having an answer or none", file, name)
				}
			}
		}
	}
	if declared != len(procedures) {
		t.Errorf("%d procedures are listed, %d declared", len(procedures), declared)
	}
}

func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	kind := function.Recv.List[0].Type
	if pointer, is := kind.(*ast.StarExpr); is {
		kind = pointer.X
	}
	return kind.(*ast.Ident).Name + "."
}
