package spec

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/spec/source"
)

// What coding agents need to work in the loops of a suite is data, in recipes.yaml. What a loop itself says in its command and env
// always counts.

// Recipe is what one coding agent needs.
type Recipe struct {
	Program string   `yaml:"program" need:"required"`
	Version int      `yaml:"version" need:"required" min:"1"` // of the entry
	Speaks  Protocol `yaml:"speaks" need:"required"`          // in which the recipe lets it call models
	// Unconfined says that the recipe switches off what the program itself holds against harm: its sandbox, or its questions.
	Unconfined bool `yaml:"unconfined"`
	// Behind are the words of a command behind the first of which the flags go. Without one they go to the end, or before --.
	Behind []string `yaml:"behind"`
	// Always is what it needs in any case, Served what leads it to models of the suite.
	Always Needs `yaml:"always"`
	Served Needs `yaml:"served"`
}

// Needs are flags, variables and files. Their texts may hold [RecipeProxy], [RecipeModel] and [RecipeSession].
type Needs struct {
	Flags []Flag            `yaml:"flags"`
	Env   []string          `yaml:"env"`   // NAME=value
	Files map[string]string `yaml:"files"` // contents, by paths below HOME
}

// Flag is a flag of a program. A command that has one of its names already does not get it.
type Flag struct {
	Names   []string `yaml:"names" short:"list" minlen:"1"` // the first is the one that is given
	Setting string   `yaml:"setting"`                       // of a flag that may stand several times: which setting it makes, as in -c SETTING=VALUE
	Value   string   `yaml:"value"`                         // "": it has none
}

// The texts that stand for what is known when a program starts.
const (
	RecipeProxy   = "<proxy>"   // the base URL of the model proxy
	RecipeModel   = "<model>"   // the first name under models, or, where that is a pattern, the model that serves it
	RecipeSession = "<session>" // a UUID, another one in each iteration
)

//go:embed recipes.yaml
var recipesText []byte

// recipes are read when the first one is asked for.
var recipes = sync.OnceValue(func() (all []Recipe) {
	tree, faults := source.Parse(source.NewFile("recipes.yaml", recipesText))
	if faults = append(faults, source.Decode(tree, &all)...); faults.Err() != nil {
		panic(faults) // the file is a part of the program
	}
	return all
})

// RecipeOf is the recipe of that name; nil: there is none.
func RecipeOf(name string) *Recipe {
	for i := range recipes() {
		if r := &recipes()[i]; r.Program == name {
			return r
		}
	}
	return nil
}

// unconfined reports whether a recipe of that name switches off what a program holds against harm.
func unconfined(name string) bool {
	r := RecipeOf(name)
	return r != nil && r.Unconfined
}

// With is what a program needs where it is led to a model of the suite by the proxy's base URL; "": it calls none.
func (r *Recipe) With(proxy, model, session string) Needs {
	known := strings.NewReplacer(RecipeProxy, proxy, RecipeModel, model, RecipeSession, session)
	parts := []Needs{r.Always, r.Served}
	if proxy == "" {
		parts = parts[:1]
	}
	needs := Needs{Files: map[string]string{}}
	for _, part := range parts {
		for _, f := range part.Flags {
			f.Value = known.Replace(f.Value)
			needs.Flags = append(needs.Flags, f)
		}
		for _, entry := range part.Env {
			needs.Env = append(needs.Env, known.Replace(entry))
		}
		for path, content := range part.Files {
			needs.Files[path] = known.Replace(content)
		}
	}
	return needs
}

// Command is a command with the flags of the recipe that it lacks. Declared is the command as the loop has it, whose
// words tell what it lacks; argv has the same words, rendered.
func (r *Recipe) Command(declared, argv []string, flags []Flag) []string {
	end := len(declared)
	if at := slices.Index(declared, "--"); at > 0 {
		end = at
	}
	place := end
	if at := slices.IndexFunc(declared[:end], func(word string) bool { return slices.Contains(r.Behind, word) }); at > 0 {
		place = at + 1
	}
	var lacking []string
	for _, f := range flags {
		if !f.in(declared[1:end]) {
			lacking = append(lacking, f.words()...)
		}
	}
	return slices.Concat(argv[:place], lacking, argv[place:])
}

func (f *Flag) words() []string {
	switch {
	case f.Setting != "":
		return []string{f.Names[0], f.Setting + "=" + f.Value}
	case f.Value != "":
		return []string{f.Names[0], f.Value}
	}
	return f.Names[:1]
}

// in reports whether words have the flag, as -s VALUE, --sandbox=VALUE or -c SETTING=VALUE.
func (f *Flag) in(words []string) bool {
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case !slices.Contains(f.Names, name):
			continue
		case f.Setting == "" || !slices.Contains([]string{"-c", "--config"}, name):
			return true
		case !joined && i+1 < len(words):
			value = words[i+1]
		}
		if key, _, _ := strings.Cut(value, "="); strings.TrimSpace(key) == f.Setting {
			return true
		}
	}
	return false
}
