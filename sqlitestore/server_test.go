package sqlitestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/storetest"
)

// server is another process that has a store open: this test binary, playing
// a role. It ends when its standard input does.
type server struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func startServer(t *testing.T, role, path string) *server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, path)
	home := t.TempDir()
	cmd.Env = []string{roleVariable + "=" + role, "HOME=" + home, "TMPDIR=" + home}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &server{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
}

// line reads the server's next line.
func (s *server) line(t *testing.T) string {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the server said nothing more: %v", s.lines.Err())
	}
	return s.lines.Text()
}

// end lets the server end and checks that it did well.
func (s *server) end(t *testing.T) {
	t.Helper()
	s.stdin.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// kill ends the server as a crash would and returns what it had still said.
func (s *server) kill(t *testing.T) (rest []string) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for s.lines.Scan() {
		rest = append(rest, s.lines.Text())
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the killed server ended with %v", err)
	}
	return rest
}

// openAndWait is the role of a server that has the store open.
func openAndWait(path string) error {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	fmt.Println(s.Instance())
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// openAndCommit is the role of a server that opens the store together with
// others, once its input says so, and uses it at once.
func openAndCommit(path string) error {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if err := s.Commit(ctx, newSession(s.Instance(), 1)); err != nil {
		return err
	}
	fmt.Println(s.Instance(), fmt.Sprintf("%x", s.Secret()))
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

func TestTenProcessesOpenAnEmptyDirectoryAtOnce(t *testing.T) {
	path := t.TempDir() + "/new/harness.db"
	var servers []*server
	for range 10 {
		s := startServer(t, "crowd", path)
		s.line(t)
		servers = append(servers, s)
	}
	for _, s := range servers {
		if _, err := s.stdin.(io.Writer).Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
	}
	secrets := map[string]bool{}
	var instances []string
	for _, s := range servers {
		id, secret, _ := strings.Cut(s.line(t), " ")
		instances = append(instances, id)
		secrets[secret] = true
	}
	if len(secrets) != 1 {
		t.Errorf("the servers have %d different secrets", len(secrets))
	}
	mine := openTest(t, path)
	for _, id := range instances {
		if !mine.Alive(id) {
			t.Errorf("instance %s is not alive", id)
		}
		if _, err := mine.Session(t.Context(), owner, id); err != nil {
			t.Errorf("the session of instance %s: %v", id, err)
		}
	}
	for _, s := range servers {
		s.end(t)
	}
	for _, id := range instances {
		if mine.Alive(id) {
			t.Errorf("instance %s is alive after its end", id)
		}
	}
}

func TestAKilledInstanceIsDeadAndItsLockFileGoes(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	victim := startServer(t, "open", path)
	id := victim.line(t)
	s := openTest(t, path)
	if !s.Alive(id) {
		t.Fatalf("the running instance %s is not alive", id)
	}
	victim.kill(t)
	if s.Alive(id) {
		t.Errorf("the killed instance %s is alive", id)
	}
	if _, err := os.Stat(s.path(id)); err != nil {
		t.Errorf("looking removed the lock file: %v", err)
	}
	next := openTest(t, path)
	if _, err := os.Stat(s.path(id)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stale lock file is still there: %v", err)
	}
	if !next.Alive(s.Instance()) || !s.Alive(next.Instance()) {
		t.Error("two stores of one process do not see each other alive")
	}
}

// crash has this test binary write to a store until it is killed.
var crash = storetest.Crash{
	Open: func(ctx context.Context, path string) (core.Store, error) {
		return Open(ctx, path, Options{Durability: Normal})
	},
	Check: func(ctx context.Context, s core.Store) error { return s.(*Store).Check(ctx) },
}

func TestKilledWritersLoseNothingThatTheyAcknowledged(t *testing.T) { storetest.RunCrash(t, crash) }
