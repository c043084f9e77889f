package command

import (
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
	files, err := filesBelow(suite.FS)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "listing the suite: %w", err)
	}
	schemas := []string{"suite.schema.json", "loop.schema.json"}
	for _, name := range append(files, schemas...) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return exit.Usage("name another folder", "%s exists already, and nothing is overwritten", filepath.Join(dir, name))
		}
	}
	if err := p.writeSuite(dir, suite.FS, files); err != nil {
		return exit.With(exit.NotMeasured, "name a folder that can be written to", "writing the suite: %w", err)
	}
	path := filepath.Join(dir, suites.File)
	fmt.Fprintf(p.out, "wrote %s\nrun it: agentbench run %s\n", path, path)
	return nil
}

func filesBelow(folder fs.FS) (files []string, err error) {
	err = fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

func (p *program) writeSuite(dir string, from fs.FS, files []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeSchemas(dir); err != nil {
		return err
	}
	for _, name := range files {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, append(editorLine(name), text...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// editorLine tells editors which schema a file follows.
func editorLine(name string) []byte {
	switch {
	case name == suites.File:
		return []byte("# yaml-language-server: $schema=suite.schema.json\n")
	case strings.HasSuffix(name, ".loop.yaml"):
		return []byte("# yaml-language-server: $schema=loop.schema.json\n")
	}
	return nil
}
