package command

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) initCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:     "init DIR",
		Short:   "Write a working example suite",
		GroupID: "write",
		Long:    "Writes a commented suite with its loops and tasks into a folder. It runs at once, without an API key.\n\nThe suites:\n" + listing(),
		Args:    arguments(1, 1, "a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			suite, ok := suites.Find(from)
			if !ok {
				return exit.Usage(exit.DidYouMean(from, suites.Names(), "there are: "+strings.Join(suites.Names(), ", ")), "unknown suite %q", from)
			}
			return p.init(args[0], suite)
		},
	}
	c.Flags().StringVar(&from, "from", "quickstart", "suite to copy")
	_ = c.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(suites.Names(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return c
}

func listing() string {
	var b strings.Builder
	for _, s := range suites.All() {
		fmt.Fprintf(&b, "  %-20s %s\n", s.Name, s.About)
	}
	return strings.TrimRight(b.String(), "\n")
}

// init copies a suite that ships. It overwrites nothing: if one of the files
// exists, none is written.
func (p *program) init(dir string, suite suites.Suite) error {
	files, err := initialFiles(suite.FS)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "listing the suite: %w", err)
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return exit.Usage("name another folder", "%s exists already, and nothing is overwritten", filepath.Join(dir, f.name))
		}
	}
	for _, f := range files {
		to := filepath.Join(dir, f.name)
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.WriteFile(to, f.text, 0o644)
		}
		if err != nil {
			return exit.With(exit.NotMeasured, "name a folder that can be written to", "writing the suite: %w", err)
		}
	}
	path := filepath.Join(dir, suites.File)
	fmt.Fprintf(p.out, "wrote %s\nrun it: agentbench run %s\n", path, path)
	return nil
}

type initialFile struct {
	name string
	text []byte
}

// initialFiles are those of a suite, with a line that tells editors which schema they follow, and
// the schemas.
func initialFiles(suite fs.FS) (files []initialFile, err error) {
	err = fs.WalkDir(suite, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(suite, path)
		schema := ""
		switch {
		case path == suites.File:
			schema = "suite"
		case strings.HasSuffix(path, ".loop.yaml"):
			schema = "loop"
		}
		if schema != "" {
			text = append([]byte("# yaml-language-server: $schema="+schema+".schema.json\n"), text...)
		}
		files = append(files, initialFile{filepath.FromSlash(path), text})
		return err
	})
	for _, kind := range []string{"suite", "loop"} {
		text, wrong := schemas[kind]()
		files, err = append(files, initialFile{kind + ".schema.json", append(text, '\n')}), cmp.Or(err, wrong)
	}
	return files, err
}
