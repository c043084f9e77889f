package external

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemFolders hold installed programs.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// configuration is what programs need of /etc. Keys, passwords and what may hold them are
// not among it.
var configuration = []string{
	"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "gai.conf", "group", "host.conf", "hosts",
	"java*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "magic", "magic.mime", "maven", "mime.types", "nsswitch.conf",
	"os-release", "passwd", "perl", "pki/ca-trust", "pki/tls/certs", "profile", "protocols", "python3*", "services", "shells", "ssl/certs",
	"ssl/openssl.cnf", "terminfo", "timezone", "xdg",
}

// ofTheMachine is what of /proc belongs to no process. Its files are root's: who runs us as root could write them
// without any capability.
var ofTheMachine = []string{"acpi", "bus", "driver", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger"}

// bubblewrap is a program within a tree of its own that bwrap assembles.
func (s *Sandbox) bubblewrap(p Program) (Program, error) {
	bwrap, err := s.lookPath("bwrap")
	if err != nil {
		return p, fmt.Errorf("sandbox bubblewrap: bwrap was not found: apt-get install bubblewrap")
	}
	args := []string{
		bwrap, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
		"--cap-drop", "ALL", // root could write to what is read-only
		"--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp", "--dir", "/run",
	}
	for _, name := range ofTheMachine {
		args = append(args, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
	}
	if os.Getuid() == 0 { // who could not make a user namespace for a sandbox of his own without it
		args = append(args, "--cap-add", "CAP_SETFCAP")
	}
	if !s.Network {
		args = append(args, "--unshare-net")
	}
	for _, folder := range systemFolders {
		if target, err := os.Readlink(folder); err == nil {
			args = append(args, "--symlink", target, folder)
		} else {
			args = append(args, "--ro-bind-try", folder, folder)
		}
	}
	for _, pattern := range s.configuration() {
		found, _ := filepath.Glob("/etc/" + pattern)
		for _, path := range found {
			args = append(args, "--ro-bind-try", path, path)
		}
	}
	path, needs, err := s.installation(&p)
	if err != nil {
		return p, p.explain(err, "")
	}
	args = append(args, needs...)
	for _, shown := range s.ReadOnly {
		args = append(args, "--ro-bind", shown, shown)
	}
	if s.Home == "" {
		args = append(args, "--tmpfs", homeInside)
	} else {
		args = append(args, "--bind", s.Home, homeInside)
	}
	args = append(args, "--bind", s.Workspace, workspaceInside)
	if s.Forwards() {
		us, err := s.ourselves()
		if err != nil {
			return p, err
		}
		args = append(args, "--ro-bind", us, ourselvesInside, "--ro-bind", s.Proxy, socketInside)
	}
	args = append(args, "--chdir", s.Inside(p.Dir))
	var env []string
	for _, entry := range p.Env {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "LD_") { // not for bwrap, which runs outside
			args = append(args, "--setenv", name, value)
		} else {
			env = append(env, entry)
		}
	}
	p.Argv = append(append(args, "--"), s.begin(append([]string{path}, p.Argv[1:]...))...)
	p.Env, p.Dir = env, "/"
	return p, nil
}

func (s *Sandbox) configuration() []string {
	if s.Network {
		return append([]string{"resolv.conf"}, configuration...)
	}
	return configuration
}

// lookPath finds a program in our own PATH.
func (s *Sandbox) lookPath(name string) (string, error) {
	return (&Program{Argv: []string{name}, Env: []string{"PATH=" + s.getenv("PATH")}}).find()
}

// installation is where a program is found within the sandbox, and the arguments that
// show what it needs there: its own files, and those of the program that interprets it.
func (s *Sandbox) installation(p *Program) (inside string, args []string, err error) {
	path, err := p.find()
	if err != nil {
		return "", nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	if err := startable("", path); err != nil {
		return "", nil, err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	show := func(file string) {
		if s.Inside(file) != file || ofTheSystem(file) {
			return // it is seen
		}
		info, err := os.Lstat(file)
		if root := installed(file); err == nil && root == file && info.Mode()&os.ModeSymlink != 0 {
			args = append(args, "--symlink", target, file) // programs look beside what it leads to
		} else {
			args = append(args, "--ro-bind", root, root)
		}
	}
	show(target)
	if path != target {
		show(path)
	}
	if by := interpreter(target); by != "" {
		with := &Program{Argv: []string{by}, Env: p.Env}
		if _, more, err := s.installation(with); err == nil { // else the program says it itself
			args = append(args, more...)
		}
	}
	return s.Inside(path), args, nil
}

func ofTheSystem(path string) bool {
	return slices.ContainsFunc(systemFolders, func(folder string) bool { return strings.HasPrefix(path, folder+"/") })
}

// Installation is what a program's file needs to be seen with: the folder that it belongs to, and the one that it leads to.
func Installation(file string) []string {
	seen := []string{installed(file)}
	if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
		if root := installed(target); root != seen[0] {
			seen = append(seen, root)
		}
	}
	return seen
}

// installed is the folder that a program's file belongs to: that of all packages of npm
// beside it, or its virtual environment of Python; else the file alone.
func installed(file string) string {
	const packages = "/node_modules/"
	if at := strings.Index(file, packages); at >= 0 {
		return file[:at+len(packages)-1]
	}
	if root := filepath.Dir(filepath.Dir(file)); filepath.Base(filepath.Dir(file)) == "bin" && exists(filepath.Join(root, "pyvenv.cfg")) {
		return root
	}
	return file
}

// interpreter is the program that runs a script: what its first line says; "": none.
func interpreter(file string) string {
	script, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer script.Close()
	line, _ := bufio.NewReaderSize(script, 256).ReadSlice('\n')
	words, is := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(words)
	if !is || len(fields) == 0 {
		return ""
	}
	if filepath.Base(fields[0]) == "env" {
		for _, word := range fields[1:] {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				return word
			}
		}
	}
	return fields[0]
}
