// Command release builds what a version of agentbench is published as: one archive
// for each system with the program, its man pages, completions and licences; the
// archives' checksums; and a list of the modules in the program (SPDX).
//
//	go run ./cmd/agentbench/release -out dist            a commit with a version's tag
//	go run ./cmd/agentbench/release -out dist -snapshot  any commit, to try it
//	go run ./cmd/agentbench/release -notice              write NOTICE
//
// It is no stable API.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"
	"golang.org/x/sync/errgroup"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

// systems are what is published.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	out := flag.String("out", "dist", "write the files into this new folder")
	snapshot := flag.Bool("snapshot", false, "build any commit; without it the commit needs a version's tag")
	only := flag.String("systems", strings.Join(systems, ","), "build for these systems")
	notice := flag.Bool("notice", false, "write the file NOTICE and build nothing")
	flag.Parse()
	err := error(nil)
	if *notice {
		err = writeNotice(".")
	} else {
		err = release(context.Background(), ".", *out, strings.Split(*only, ","), *snapshot)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// release writes the archives, checksums.txt and the list of modules of the module
// in the folder root into the new folder out.
func release(ctx context.Context, root, out string, systems []string, snapshot bool) error {
	version, at, err := versionOf(root, snapshot)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		return err
	}
	modules, err := linkedModules(root)
	if err != nil {
		return err
	}
	common, err := documents(root, version, at)
	if err != nil {
		return err
	}
	names := make([]string, len(systems))
	builds, ctx := errgroup.WithContext(ctx)
	builds.SetLimit(2)
	for i, system := range systems {
		builds.Go(func() error {
			program, err := build(ctx, root, system)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
			names[i] = fmt.Sprintf("agentbench_%s_%s", version, strings.ReplaceAll(system, "/", "_"))
			files := append([]file{program}, common...)
			if strings.HasPrefix(system, "windows/") {
				names[i] += ".zip"
				return pack(filepath.Join(out, names[i]), files, at, zipped)
			}
			names[i] += ".tar.gz"
			return pack(filepath.Join(out, names[i]), files, at, tarred)
		})
	}
	if err := builds.Wait(); err != nil {
		return err
	}
	list := fmt.Sprintf("agentbench_%s.spdx.json", version)
	text, err := spdx(version, at, modules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, list), text, 0o666); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, name := range append(names, list) {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
		fmt.Printf("%s  %.1f MB\n", filepath.Join(out, name), float64(len(content))/1e6)
	}
	return os.WriteFile(filepath.Join(out, "checksums.txt"), sums.Bytes(), 0o666)
}

var semver = regexp.MustCompile(`^v(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)

// versionOf returns the version of the commit that is checked out, without its v,
// and when it was committed. A snapshot is named after its commit.
func versionOf(root string, snapshot bool) (string, time.Time, error) {
	said, err := git(root, "log", "-1", "--format=%h %cI")
	if err != nil {
		return "", time.Time{}, err
	}
	commit, when, _ := strings.Cut(said, " ")
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return "", time.Time{}, err
	}
	if snapshot {
		return "0.0.0-" + commit, at, nil
	}
	if changed, err := git(root, "status", "--porcelain"); err != nil || changed != "" {
		return "", time.Time{}, cmp.Or(err, fmt.Errorf("files are not committed:\n%s", changed))
	}
	tags, err := git(root, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", time.Time{}, err
	}
	for _, tag := range strings.Fields(tags) {
		if version := semver.FindStringSubmatch(tag); version != nil {
			return version[1], at, nil
		}
	}
	return "", time.Time{}, fmt.Errorf("commit %s has no tag such as v1.2.3; -snapshot builds it all the same", commit)
}

func git(root string, args ...string) (string, error) {
	return output(exec.Command("git", append([]string{"-C", root}, args...)...))
}

// output runs a program and returns what it prints; its errors are in the error.
func output(c *exec.Cmd) (string, error) {
	var complaints bytes.Buffer
	c.Stderr = &complaints
	said, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, complaints.String())
	}
	return strings.TrimSpace(string(said)), nil
}

// build compiles the program for a system such as linux/arm64.
func build(ctx context.Context, root, system string) (file, error) {
	goos, goarch, _ := strings.Cut(system, "/")
	name := "agentbench"
	if goos == "windows" {
		name += ".exe"
	}
	dir, err := os.MkdirTemp("", "agentbench-release")
	if err != nil {
		return file{}, err
	}
	defer os.RemoveAll(dir)
	c := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), "./cmd/agentbench")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if _, err := output(c); err != nil {
		return file{}, err
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	return file{name: name, mode: 0o755, content: content}, err
}

// documents are the files that every archive holds besides the program.
func documents(root, version string, at time.Time) ([]file, error) {
	var files []file
	add := func(name, from string) error {
		content, err := os.ReadFile(from)
		files = append(files, file{name: name, mode: 0o644, content: content})
		return err
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		if err := add(name, filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	tree := command.Tree()
	for shell, write := range map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return command.BashCompletion(tree, w, true) },
		"zsh":        tree.GenZshCompletion,
		"fish":       func(w io.Writer) error { return tree.GenFishCompletion(w, true) },
		"powershell": tree.GenPowerShellCompletionWithDesc,
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil {
			return nil, err
		}
		files = append(files, file{name: "completions/agentbench." + shell, mode: 0o644, content: script.Bytes()})
	}
	dir, err := os.MkdirTemp("", "agentbench-man")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tree.DisableAutoGenTag = true
	if err := doc.GenManTree(tree, &doc.GenManHeader{Section: "1", Date: &at, Source: "agentbench " + version}, dir); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if err := add("man/"+page.Name(), filepath.Join(dir, page.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// pack writes an archive. The same files of the same commit give the same bytes.
func pack(target string, files []file, at time.Time, write func(*bytes.Buffer, []file, time.Time) error) error {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(path.Dir(a.name), path.Dir(b.name)), cmp.Compare(a.name, b.name))
	})
	var archive bytes.Buffer
	if err := write(&archive, files, at); err != nil {
		return err
	}
	return os.WriteFile(target, archive.Bytes(), 0o666)
}

func tarred(to *bytes.Buffer, files []file, at time.Time) error {
	packed, _ := gzip.NewWriterLevel(to, gzip.BestCompression)
	archive := tar.NewWriter(packed)
	for _, f := range files {
		head := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return cmp.Or(archive.Close(), packed.Close())
}

func zipped(to *bytes.Buffer, files []file, at time.Time) error {
	archive := zip.NewWriter(to)
	for _, f := range files {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		head.SetMode(f.mode)
		w, err := archive.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
