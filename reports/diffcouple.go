package reports

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoPair says that no configurations of two reports belong together, or that
// there is none of a name.
var ErrNoPair = errors.New("there is nothing to compare")

// couple are the numbers of two configurations that are compared.
type couple struct{ base, new int }

// coupled finds the configurations that belong together: the chosen ones, else
// those of the same name, else the only one of each side.
func coupled(base, new *Report, options *DiffOptions) ([]couple, error) {
	x, err := base.choice(options.BaseConfiguration, options.BaseName)
	if err != nil {
		return nil, err
	}
	y, err := new.choice(options.NewConfiguration, options.NewName)
	if err != nil {
		return nil, err
	}
	if options.BaseConfiguration != "" && options.NewConfiguration != "" {
		return []couple{{x[0], y[0]}}, nil
	}
	var couples []couple
	for _, j := range y {
		for _, i := range x {
			if alike(&base.Configurations[i], &new.Configurations[j]) {
				couples = append(couples, couple{i, j})
				break
			}
		}
	}
	switch {
	case len(couples) > 0:
		return couples, nil
	case len(x) == 1 && len(y) == 1:
		return []couple{{x[0], y[0]}}, nil
	}
	return nil, fmt.Errorf("%w: no configuration of %s (%s) has the name of one of %s (%s); choose them by folder:configuration",
		ErrNoPair, place(options.BaseName, "the base"), base.names(x), place(options.NewName, "the new side"), new.names(y))
}

// choice are the numbers of the configurations to choose from: one that is
// named, else all.
func (r *Report) choice(name, where string) ([]int, error) {
	if name != "" {
		at, ok := r.named(name)
		if !ok {
			return nil, r.noConfiguration(name, where)
		}
		return []int{at}, nil
	}
	all := make([]int, len(r.Configurations))
	for i := range all {
		all[i] = i
	}
	return all, nil
}

// named is the number of the configuration with that name or alias.
func (r *Report) named(name string) (at int, ok bool) {
	at = slices.IndexFunc(r.Configurations, func(c Configuration) bool {
		return c.Name == name || slices.Contains(c.Aliases, name)
	})
	return at, at >= 0
}

func (r *Report) noConfiguration(name, where string) error {
	all, _ := r.choice("", "")
	return fmt.Errorf("%w: %s has no configuration %q, it has %s", ErrNoPair, place(where, "the suite"), name, r.names(all))
}

func place(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", name)
}

func (r *Report) names(of []int) string {
	names := make([]string, len(of))
	for i, at := range of {
		names[i] = fmt.Sprintf("%q", r.Configurations[at].Name)
	}
	return strings.Join(names, ", ")
}

// alike holds for configurations that share a name.
func alike(a, b *Configuration) bool {
	names := append([]string{b.Name}, b.Aliases...)
	return slices.Contains(names, a.Name) || slices.ContainsFunc(a.Aliases, func(alias string) bool { return slices.Contains(names, alias) })
}
