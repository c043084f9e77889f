//go:build linux

package command

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCIOnSlurm submits the job scripts of docs/ci.md to a Slurm cluster of one node.
func TestCIOnSlurm(t *testing.T) {
	skipLong(t)
	t.Parallel()
	cluster := startSlurm(t)
	dir := suiteFolder(t)
	for _, b := range blocks(readDoc(t, "ci.md")) {
		if b.language != "sh" {
			continue
		}
		name := strings.TrimPrefix(b.lines[1], "# ")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(b.lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	submit := ""
	for line := range strings.Lines(readDoc(t, "ci.md")) {
		if command := strings.TrimSpace(line); strings.Contains(command, "sbatch --") {
			submit += command + "\n"
		}
	}
	// Slurm tells each command to wait until its jobs have ended.
	code, said := shell(t, dir, submit, "SBATCH_WAIT=1", cluster)
	printed, _ := filepath.Glob(filepath.Join(dir, "slurm-*.out"))
	all := said
	for _, file := range printed {
		text, _ := os.ReadFile(file)
		all += string(text)
	}
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, all)
	}
	for _, want := range []string{"shard 1 of 4, ", "shard 2 of 4, ", "shard 3 of 4, ", "shard 4 of 4, ", "merged shards 1, 2, 3 and 4 of 4: 1080 runs"} {
		if !strings.Contains(all, want) {
			t.Errorf("no job printed %q: %s", want, all)
		}
	}
	for _, file := range []string{"junit.xml", "comment.md", "ci/manifest.json"} {
		if _, err := os.Stat(filepath.Join(dir, "results", file)); err != nil {
			t.Error(err)
		}
	}
}

// startSlurm starts a cluster and returns the variable that names it. The test is skipped where none can be had.
func startSlurm(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no Slurm: %v; apt-get install slurm-wlm", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("no Slurm: its node must run as root to start jobs")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	config := strings.NewReplacer("DIR", dir, "HOST", host, "CONTROLLER", freePort(t), "NODE", freePort(t)).Replace(`ClusterName=test
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=DIR/munge.socket
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/controller.pid
SlurmdPidFile=DIR/node.pid
SlurmctldPort=CONTROLLER
SlurmdPort=NODE
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
NodeName=HOST NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
`)
	for name, text := range map[string]string{"slurm.conf": config, "munge.key": strings.Repeat("a key of 32 bytes, or of more.. ", 4)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	cluster := "SLURM_CONF=" + filepath.Join(dir, "slurm.conf")
	daemon(t, cluster, "munged", "--foreground", "--force", "--key-file="+dir+"/munge.key", "--socket="+dir+"/munge.socket",
		"--pid-file="+dir+"/munge.pid", "--log-file="+dir+"/munge.log", "--seed-file="+dir+"/munge.seed")
	answers(t, "munged", func() error { _, err := os.Stat(dir + "/munge.socket"); return err })
	daemon(t, cluster, "slurmctld", "-D")
	answers(t, "slurmctld", func() error {
		said, err := inCluster(cluster, "scontrol", "ping").CombinedOutput()
		if err == nil && !bytes.Contains(said, []byte("is UP")) {
			err = fmt.Errorf("%s", said)
		}
		return err
	})
	daemon(t, cluster, "slurmd", "-D")
	answers(t, "slurmd", func() error {
		said, err := inCluster(cluster, "sinfo", "--noheader", "--format", "%t").CombinedOutput()
		if err == nil && string(bytes.TrimSpace(said)) != "idle" {
			err = fmt.Errorf("its node is %s", said)
		}
		return err
	})
	return cluster
}

func inCluster(cluster, program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), cluster)
	return c
}

// daemon starts a program that runs until the test ends.
func daemon(t *testing.T, cluster, program string, args ...string) {
	t.Helper()
	c := inCluster(cluster, program, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
}

// answers waits for a program of the cluster. Where it does not start, the test is skipped.
func answers(t *testing.T, program string, ask func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Skipf("no Slurm: %s does not start: %v", program, err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
