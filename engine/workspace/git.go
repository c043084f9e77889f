package workspace

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// GitSeed are the files of a commit, byte for byte: without its history, so that no
// later commit is to be found in it, without filters and without conversion of line ends.
// Of a submodule there is an empty folder.
type GitSeed struct {
	Repository string // a folder or URL
	Ref        string // a branch, tag or commit; "" is HEAD
}

var errNoGit = errors.New("git is not installed, or not in PATH: it is needed for seeds of repositories and for git: true")

// git runs git on a repository of ours. It reads no configuration but that of this
// repository, and runs no hook, filter, pager, editor or helper that somebody configured.
func git(ctx context.Context, repository string, stdin io.Reader, stdout io.Writer, arguments ...string) error {
	program, err := exec.LookPath("git")
	if err != nil {
		return errNoGit
	}
	c := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.logAllRefUpdates=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "protocol.ext.allow=never", "-c", "credential.helper=", "-c", "fetch.recurseSubmodules=false", "-c", "submodule.recurse=false",
		"-c", "fastimport.unpackLimit=0", "-c", "pack.writeReverseIndex=false", "-c", "core.attributesFile=/dev/null", "-c", "tar.umask=0022",
	}, arguments...)...)
	c.Dir = filepath.Dir(repository)
	c.Env = []string{
		"GIT_DIR=" + repository, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "LC_ALL=C",
	}
	for _, name := range []string{"PATH", "HOME", "USER", "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SystemRoot", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	var stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, &stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(stderr.String()))
	}
	return ctx.Err()
}

// commit takes the files of a commit, which is fetched into a repository of ours first.
func (b *builder) commit(seed GitSeed) error {
	scratch, err := b.store.makeScratch("git")
	if err != nil {
		return err
	}
	defer Remove(filepath.Dir(scratch))
	repository := scratch + ".git"
	if err := git(b.ctx, repository, nil, nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(repository, "info"), 0o755), os.WriteFile(filepath.Join(repository, "info", "attributes"), []byte(asTheyAre), 0o644)); err != nil {
		return err
	}
	commit, err := fetch(b.ctx, repository, seed)
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	ended := make(chan struct{})
	go func() {
		writer.CloseWithError(git(b.ctx, repository, nil, writer, "archive", "--format=tar", commit))
		close(ended)
	}()
	err = b.archive(tar.NewReader(reader))
	reader.Close()
	<-ended
	return err
}

// asTheyAre are attributes that come before those of the files themselves: nothing is left out or rewritten.
const asTheyAre = "* -export-ignore -export-subst -text -ident !eol !filter !working-tree-encoding\n"

// archive takes what git archive writes of a commit.
func (b *builder) archive(from *tar.Reader) error {
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		clean, err := cleanPath(h.Name)
		if err != nil || clean != strings.TrimSuffix(h.Name, "/") || len(h.Linkname) > longestLink {
			return fmt.Errorf("%q is no path below the workspace", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = b.add(Entry{Path: clean, Kind: KindFolder, Mode: 0o755})
		case tar.TypeSymlink:
			err = b.add(Entry{Path: clean, Kind: KindLink, Link: h.Linkname})
		default:
			err = b.file(clean, fs.FileMode(h.Mode), from)
		}
		if err != nil {
			return err
		}
	}
	filled := map[string]bool{}
	for name := range b.entries {
		filled[path.Dir(name)] = true
	}
	for name, e := range b.entries {
		if e.Kind == KindFolder && !filled[name] { // git knows no other empty folders
			b.left = append(b.left, Omission{name, "of a submodule the folder alone is kept"})
		}
	}
	return nil
}

// longestLink is how long the target of a link may be: PATH_MAX of Linux.
const longestLink = 4096

// fetch gets a commit: alone, or where a server or a name such as main~2 does not let it, with all refs.
func fetch(ctx context.Context, repository string, seed GitSeed) (commit string, err error) {
	from, ref := seed.Repository, seed.Ref
	if _, err := os.Stat(from); err == nil {
		if from, err = filepath.Abs(from); err != nil {
			return "", err
		}
	}
	ref = cmp.Or(ref, "HEAD")
	if strings.HasPrefix(from, "-") || strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, ": \n") {
		return "", fmt.Errorf("%q of %q names no commit", ref, from)
	}
	name := "FETCH_HEAD"
	if git(ctx, repository, nil, nil, "fetch", "--quiet", "--depth=1", "--no-tags", "--", from, ref) != nil {
		name = ref
		if err := git(ctx, repository, nil, nil, "fetch", "--quiet", "--", from, "+refs/*:refs/*"); err != nil {
			return "", err
		}
	}
	var out bytes.Buffer
	if err := git(ctx, repository, nil, &out, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err != nil {
		return "", fmt.Errorf("it has no commit %q", ref)
	}
	return strings.TrimSpace(out.String()), nil
}

// ownRepositories refuses a seed with a repository that is partly elsewhere: programs in a workspace
// would read or change what all runs share.
func (b *builder) ownRepositories() error {
	for name, e := range b.entries {
		elsewhere := ""
		switch {
		case path.Base(name) == ".git" && e.Kind == KindLink:
			elsewhere = e.Link
		case path.Base(name) == ".git" && e.Kind == KindFile && e.Size <= longestLink:
			content, err := b.store.ReadFile(e, longestLink)
			if err != nil {
				return err
			}
			target, _ := strings.CutPrefix(string(content), "gitdir:")
			elsewhere = strings.TrimSpace(target)
		case strings.HasSuffix("/"+name, "/.git/objects/info/alternates") && e.Size > 0:
			return fmt.Errorf("%q: the repository borrows objects of another; seed {git: ...}, or a clone made without --shared", name)
		}
		if elsewhere != "" && !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), elsewhere))) || path.IsAbs(elsewhere) {
			return fmt.Errorf("%q: the repository is outside of the seed, at %q (a worktree or a submodule); seed {git: ...} instead", name, elsewhere)
		}
	}
	return nil
}

// repository adds a repository with one commit of all files. Folders that are
// repositories themselves stay out of the commit.
func (b *builder) repository(t *Tree) error {
	dir, err := b.store.makeScratch("repository")
	if err != nil {
		return err
	}
	defer Remove(filepath.Dir(dir))
	repository := filepath.Join(dir, ".git")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := git(b.ctx, repository, nil, nil, "init", "--quiet", "--template=", "--initial-branch=main"); err != nil {
		return err
	}
	reader, writer := io.Pipe()
	ended := make(chan struct{})
	go func() {
		writer.CloseWithError(b.writeCommit(writer, t))
		close(ended)
	}()
	err = git(b.ctx, repository, reader, nil, "fast-import", "--quiet")
	reader.Close()
	<-ended
	if err != nil {
		return err
	}
	for _, arguments := range [][]string{
		{"config", "user.name", "agentbench"}, {"config", "user.email", "agentbench@localhost"}, {"read-tree", "HEAD"},
	} {
		if err := git(b.ctx, repository, nil, nil, arguments...); err != nil {
			return err
		}
	}
	made := &builder{ctx: b.ctx, store: b.store, entries: b.entries} // which no limit counts
	return made.dir(dir)
}

// writeCommit writes a commit as git fast-import reads it.
func (b *builder) writeCommit(to io.Writer, t *Tree) error {
	out := bufio.NewWriter(to)
	const who = "agentbench <agentbench@localhost> 946684800 +0000"
	fmt.Fprintf(out, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata 4\nseed\n", who, who)
	nested := map[string]bool{}
	for _, e := range t.Entries {
		if path.Base(e.Path) == ".git" {
			nested[path.Dir(e.Path)] = true
		}
	}
	for _, e := range t.Entries {
		if nested[path.Dir(e.Path)] {
			nested[e.Path] = true
		}
		if nested[e.Path] || nested[path.Dir(e.Path)] || e.Kind == KindFolder {
			continue
		}
		mode := "100644"
		switch {
		case e.Kind == KindLink:
			mode, e.Size = "120000", int64(len(e.Link))
		case e.Mode&0o100 != 0:
			mode = "100755"
		}
		fmt.Fprintf(out, "M %s inline \"%s\"\ndata %d\n", mode, quoted.Replace(e.Path), e.Size)
		if e.Kind == KindLink {
			out.WriteString(e.Link)
		} else if err := b.store.eachChunk(e.Hash, e.Size, func(chunk []byte) error { _, err := out.Write(chunk); return err }); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// quoted writes a path as git fast-import reads it between quotes.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
