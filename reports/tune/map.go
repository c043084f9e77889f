package tune

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports/page"
)

// Map is what replay makes of two parameters, the others fixed: of those that matter most to the
// objective, or of the only one.
type Map struct {
	// X and Y are the parameters; Y has no path where there is only one.
	X MapAxis `json:"x"`
	Y MapAxis `json:"y,omitzero"`
	// Fixed are the values of the other parameters: those of Center, which is recommended,
	// today's, the best or the first candidate.
	Fixed  []FixedParam `json:"fixed,omitempty"`
	Center string       `json:"center"`
	Cells  []MapCell    `json:"cells"`
	// Weaker is set where parameters that matter more have no map: fewer than two of their
	// combinations were tried beside the center.
	Weaker bool `json:"weaker,omitempty"`
}

// FixedParam is a parameter that has one value in all of a map.
type FixedParam struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// MapAxis is a parameter with its values, the smallest first. Left counts those that are
// not shown.
type MapAxis struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`
	Left   int      `json:"left,omitempty"`
	places []int    // among the values of the parameter
}

// MapCell is a candidate of a map.
type MapCell struct {
	X     int    `json:"x"` // the place of its value
	Y     int    `json:"y"`
	Name  string `json:"name"`
	Label string `json:"label"` // as that of a replayed configuration
	// Objective is missing unless the candidate is exact; Least is what one that is not is
	// worth at least.
	Objective   page.Value `json:"objective"`
	Least       page.Value `json:"at_least"`
	Cost        page.Value `json:"cost"`   // of the choice
	Within      bool       `json:"within"` // it satisfies the constraints
	Today       bool       `json:"today,omitempty"`
	Recommended bool       `json:"recommended,omitempty"`
	Folds       int        `json:"folds,omitempty"` // that chose it on the other folds
}

// mostMapValues are how many values of a parameter a map has.
const mostMapValues = 24

// mapped makes the map. It needs no replay that was not made.
func (t *chooser) mapped(_ context.Context, r *Tuning, choice *chosen) error {
	paths := t.byStrength()
	if len(paths) == 0 {
		return nil
	}
	marks := mapMarks{today: t.today(), recommended: choice.candidate, folds: map[int]int{}}
	marks.center, marks.what = t.center(choice)
	if r.Validation != nil {
		for _, f := range r.Validation.Folds {
			marks.folds[f.Chosen]++
		}
	}
	if len(paths) == 1 {
		r.Map = t.mapOf(paths, &marks)
		return nil
	}
	for second := 1; second < len(paths); second++ {
		for at, first := range paths[:second] {
			if r.Map = t.mapOf([]int{first, paths[second]}, &marks); r.Map != nil {
				r.Map.Weaker = at > 0 || second > 1
				return nil
			}
		}
	}
	return nil
}

// mapMarks are the candidates that a map marks, and its center.
type mapMarks struct {
	center             int
	what               string // the center is
	today, recommended int
	folds              map[int]int // how many folds chose a candidate
}

// mapOf makes the map of one or two parameters; nil: it would have fewer than two cells.
func (t *chooser) mapOf(axes []int, marks *mapMarks) *Map {
	m := &Map{Center: marks.what}
	keep := append(slices.Sorted(maps.Keys(marks.folds)), marks.recommended, marks.today, marks.center)
	slices.Sort(keep)
	m.X = t.mapAxis(axes[0], keep)
	if len(axes) > 1 {
		m.Y = t.mapAxis(axes[1], keep)
	}
	for path := range t.paths {
		if !slices.Contains(axes, path) {
			m.Fixed = append(m.Fixed, FixedParam{t.paths[path], valueText(t.param(marks.center, path))})
		}
	}
	for i := range t.candidates {
		x := slices.Index(m.X.places, t.at[i][axes[0]])
		y := 0
		if len(axes) > 1 {
			y = slices.Index(m.Y.places, t.at[i][axes[1]])
		}
		if x < 0 || y < 0 || !t.sameBut(i, marks.center, axes) {
			continue
		}
		cell := t.mapCell(i)
		cell.X, cell.Y, cell.Today, cell.Recommended, cell.Folds = x, y, i == marks.today, i == marks.recommended, marks.folds[i]
		m.Cells = append(m.Cells, cell)
	}
	slices.SortStableFunc(m.Cells, func(a, b MapCell) int {
		return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X), cmp.Compare(a.Name, b.Name))
	})
	if len(m.Cells) < 2 {
		return nil
	}
	return m
}

func (t *chooser) mapCell(i int) MapCell {
	none := page.Missing(page.Nothing)
	c := MapCell{Name: t.candidates[i].Name, Label: t.labels[i].String(), Objective: none, Least: none, Cost: none, Within: t.within[0][i]}
	if t.standing[i] == notExact {
		if least := t.least[0][i]; !math.IsNaN(least) && t.labels[i] == replay.Bounded {
			c.Least = t.shownValue(least)
		}
		return c
	}
	if value := t.value[0][i]; t.labels[i] == replay.PointExact && !math.IsNaN(value) {
		c.Objective = t.shownValue(value)
	}
	if cost := t.cost[0][i]; !math.IsNaN(cost) {
		c.Cost = page.Known(cost)
	}
	return c
}

// center is the candidate whose values the other parameters have, and what it is.
func (t *chooser) center(choice *chosen) (candidate int, what string) {
	switch {
	case choice.candidate >= 0:
		return choice.candidate, "recommended"
	case t.today() >= 0:
		return t.today(), "today"
	case choice.best >= 0:
		return choice.best, "best"
	}
	return 0, "first"
}

// sameBut reports whether two candidates differ in no other parameters.
func (t *chooser) sameBut(a, b int, axes []int) bool {
	for path := range t.at[a] {
		if !slices.Contains(axes, path) && t.at[a][path] != t.at[b][path] {
			return false
		}
	}
	return true
}

// mapAxis has the values of a parameter, or, where there are too many, some of them, those
// of candidates to keep among them.
func (t *chooser) mapAxis(path int, keep []int) MapAxis {
	a := MapAxis{Path: t.paths[path]}
	seen := map[int]bool{}
	for i := range t.candidates {
		seen[t.at[i][path]] = true
	}
	for place := range len(t.values[path]) + 1 {
		if seen[place] {
			a.places = append(a.places, place)
		}
	}
	if n := len(a.places); n > mostMapValues {
		kept := map[int]bool{}
		for _, candidate := range keep {
			if candidate >= 0 && len(kept) < mostMapValues/2 {
				kept[t.at[candidate][path]] = true
			}
		}
		free := mostMapValues - len(kept)
		for i := range free {
			kept[a.places[i*(n-1)/(free-1)]] = true
		}
		a.places = slices.DeleteFunc(a.places, func(place int) bool { return !kept[place] })
		a.Left = n - len(a.places)
	}
	for _, place := range a.places {
		var value any
		if place < len(t.values[path]) {
			value = t.values[path][place]
		}
		a.Values = append(a.Values, valueText(value))
	}
	return a
}

// byStrength are the parameters that take several values: first those by whose values the mean objective
// of the exact candidates differs most, of equal ones those by which their cost does.
func (t *chooser) byStrength() (paths []int) {
	type effect struct {
		path            int
		objective, cost float64
	}
	var effects []effect
	for path := range t.paths {
		if values := t.spreadBy(path, nil); values.n > 1 {
			effects = append(effects, effect{path, t.spreadBy(path, t.value[0]).spread, t.spreadBy(path, t.cost[0]).spread})
		}
	}
	slices.SortStableFunc(effects, func(a, b effect) int {
		return cmp.Or(cmp.Compare(b.objective, a.objective), cmp.Compare(b.cost, a.cost))
	})
	for _, e := range effects {
		paths = append(paths, e.path)
	}
	return paths
}

// valueSpread is how many values a parameter takes, and how far the means differ by them.
type valueSpread struct {
	n      int
	spread float64
}

// spreadBy is of numbers by candidate; without any it counts the values.
func (t *chooser) spreadBy(path int, numbers []float64) valueSpread {
	sums, counts := make([]float64, len(t.values[path])+1), make([]float64, len(t.values[path])+1)
	for i := range t.candidates {
		switch place := t.at[i][path]; {
		case numbers == nil:
			counts[place]++
		case t.can[i] && !math.IsNaN(numbers[i]):
			sums[place], counts[place] = sums[place]+numbers[i], counts[place]+1
		}
	}
	s := valueSpread{}
	least, most := math.Inf(1), math.Inf(-1)
	for place, n := range counts {
		if n > 0 {
			mean := sums[place] / n
			s.n, least, most = s.n+1, min(least, mean), max(most, mean)
		}
	}
	if s.n > 0 {
		s.spread = most - least
	}
	return s
}
