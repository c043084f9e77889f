package command

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/suites"
)

// mostCompleted is how many runs a shell is offered.
const mostCompleted = 1000

// complete lets shells complete what only suites and results know: shipped suites,
// configurations, tasks, runs, scorers, baselines and the paths of parameters. Mistakes on the command line
// complete nothing, silently.
func (p *program) complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "run", "check", "plan", "tune", "calibrate":
			c.ValidArgsFunction = firstOr(suites.Names())
		case "import":
			c.ValidArgsFunction = firstOr(suites.MappingNames())
		case "show":
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(args) == 0 {
					return nil, cobra.ShellCompDirectiveFilterDirs
				}
				return runsLike(args[0], typed), cobra.ShellCompDirectiveNoFileComp
			}
		case "report", "diff", "export", "view", "replay", "merge", "repair", "score":
			c.ValidArgsFunction = firstOr(nil)
		}
		for flag, known := range map[string]func(loops) []string{"configuration": func(l loops) []string { return l.names }, "scorer": func(l loops) []string { return l.declared }, "set": loops.parameters, "parameter": loops.parameters} {
			then := cobra.ShellCompDirectiveNoFileComp
			if flag == "set" || flag == "parameter" {
				then |= cobra.ShellCompDirectiveNoSpace
			}
			completes(c, flag, then, func(path, _ string) []string { return known(p.loopsOf(path)) })
		}
		completes(c, "task", cobra.ShellCompDirectiveNoFileComp, p.tasksLike)
		if c.Flags().Lookup("baseline") != nil && c.Flags().Lookup("baselines") != nil {
			_ = c.RegisterFlagCompletionFunc("baseline", func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				names, _ := results.Baselines(c.Flag("baselines").Value.String()) // none where the folder is not there
				return names, cobra.ShellCompDirectiveDefault                     // result folders as well
			})
		}
		if c.Flags().Lookup("write") != nil && c.Flags().Lookup("format") != nil {
			_ = c.RegisterFlagCompletionFunc("write", func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if strings.Contains(typed, "=") {
					return nil, cobra.ShellCompDirectiveDefault
				}
				var formats []string
				for _, format := range page.Formats {
					formats = append(formats, format+"=")
				}
				return formats, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
}

// completes completes a flag, where a command has it, by what its first argument names.
func completes(c *cobra.Command, flag string, then cobra.ShellCompDirective, words func(path, typed string) []string) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(args[0], typed), then
	})
}

// firstOr completes the first argument with names or files, others with files.
func firstOr(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return names, cobra.ShellCompDirectiveDefault
	}
}

// loops are what a suite or a result folder declares.
type loops struct {
	names    []string
	loop     func(configuration string) *spec.Loop
	declared []string // scorers
}

func (p *program) loopsOf(path string) (all loops) {
	path, _, _ = strings.Cut(path, ":")
	if m, err := record.ReadManifest(path); err == nil {
		folder, err := results.Open(&record.Results{Path: path, Manifest: m}, nil)
		if err != nil {
			return loops{}
		}
		for _, c := range m.Configurations {
			all.names = append(all.names, c.Name)
		}
		all.declared, all.loop = m.Scorers, folder.Loop
		return all
	}
	suite := p.suiteQuietly(path)
	if suite == nil {
		return loops{}
	}
	for i := range suite.Suite.Resolved {
		all.names = append(all.names, suite.Suite.Resolved[i].Name)
	}
	for _, s := range suite.Suite.Scorers {
		all.declared = append(all.declared, s.Name)
	}
	all.loop = func(name string) *spec.Loop { return suite.Suite.Configuration(name).Loop }
	return all
}

// suiteQuietly opens a suite without a word; nil where that cannot be.
func (p *program) suiteQuietly(path string) *opened {
	if path == "-" {
		return nil
	}
	suite, _ := p.silent().openSuite(path, nil)
	return suite
}

// silent is a program that neither reads nor says anything.
func (p *program) silent() *program {
	return &program{env: p.env, in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: p.now, secrets: p.secrets}
}

// parameters are the paths that --set and --sweep take, with the sign that follows.
func (l loops) parameters() (paths []string) {
	for _, name := range l.names {
		if loop := l.loop(name); loop != nil {
			for _, parameter := range replay.Analyse(loop) {
				paths = append(paths, parameter.Path+"=")
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// tasksLike are the first tasks of a suite or a result folder whose ids begin so.
func (p *program) tasksLike(path, typed string) (ids []string) {
	seen := map[string]bool{}
	add := func(id string) (more bool) {
		if strings.HasPrefix(id, typed) && !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
		return len(ids) < mostCompleted
	}
	dir, _, _ := strings.Cut(path, ":")
	if results.IsFolder(dir) {
		for s, err := range record.ReadLight(dir) {
			if err != nil || !add(s.Task) {
				break
			}
		}
	} else if suite := p.suiteQuietly(path); suite != nil {
		for task, err := range suite.Tasks() {
			if err == nil && !add(task.ID) {
				break
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// runsLike are the first runs of a result folder whose ids begin so.
func runsLike(dir, typed string) (ids []string) {
	for s, err := range record.ReadLight(dir) {
		if err != nil || len(ids) == mostCompleted {
			break
		}
		if strings.HasPrefix(s.ID, typed) {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// completeInBash has the command completion print a script for bash that needs no other
// package.
func (p *program) completeInBash(root *cobra.Command) {
	c, _, err := root.Find([]string{"completion", "bash"})
	if err != nil { // there is such a command
		return
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		without, _ := c.Flags().GetBool("no-descriptions")
		return BashCompletion(root, p.out, !without)
	}
}

// BashCompletion writes a script that completes commands in bash. That of cobra needs
// functions of the package bash-completion, which many machines lack: without them, ours
// take their place.
func BashCompletion(root *cobra.Command, w io.Writer, descriptions bool) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, descriptions); err != nil {
		return err
	}
	replaced := strings.NewReplacer(
		"    _get_comp_words_by_ref \"$@\" cur prev words cword\n", bashWords,
		"_filedir", "__agentbench_filedir",
	).Replace(script.String())
	_, err := io.WriteString(w, replaced+bashFiles)
	return err
}

const bashWords = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    # The words up to the cursor, between blanks: "=" and ":" are in them.
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur="${words[cword]}" prev="${words[cword > 0 ? cword - 1 : 0]}"
`

const bashFiles = `
__agentbench_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local kind=-f name
    [[ ${1-} == -d ]] && kind=-d
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen "$kind" -- "$cur")
}
`
