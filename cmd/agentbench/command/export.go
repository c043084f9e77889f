package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

func (p *program) exportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "export atif DIR",
		Short:   "Write recorded runs in a format that other tools read",
		GroupID: "look",
		Long: `Writes each run of a result folder as a file. The format is atif: the Agent Trajectory
Interchange Format of Harbor. The files are FOLDER/CONFIGURATION/TASK/TRIAL.json.
agentbench show DIR RUN --format atif prints one run.`,
		Args: arguments(2, 2, "a format and a result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case args[0] != "atif":
				return exit.Usage(exit.DidYouMean(args[0], []string{"atif"}, "there is: atif"), "unknown format %q", args[0])
			case out == "":
				return exit.Usage("--out FOLDER", "export: where to?")
			}
			return p.export(args[1], out)
		},
	}
	outFlag(c, &out, "new folder for the files")
	return c
}

// export writes all runs of a result folder into a new folder.
func (p *program) export(dir, out string) error {
	if _, err := p.openManifest(dir); err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("name a new folder with --out", "%s is not empty", out)
	}
	scores := map[string][]record.Score{}
	for s, err := range record.ReadScores(dir) {
		switch {
		case record.Unreadable(err):
			return exit.Unmeasured(err)
		case err == nil && s.Iteration == 0:
			scores[s.Run] = append(scores[s.Run], s)
		}
	}
	written := 0
	for run, err := range record.ReadRuns(dir) {
		switch {
		case record.Unreadable(err):
			return exit.Unmeasured(err)
		case err != nil:
			fmt.Fprintln(p.err, "agentbench: warning:", err)
			continue
		}
		text, err := imports.ATIF(run, record.Standing(scores[run.ID]))
		file := filepath.Join(out, filepath.FromSlash(run.ID)+".json")
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o755)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			return exit.Unmeasured(err)
		}
		written++
	}
	fmt.Fprintf(p.out, "%s: exported %s\n", out, page.Plural(written, "run", "runs"))
	return nil
}
