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

// kill ends the server as a crash would and gives what it had still said.
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

// writeUntilKilled is the role of a server that commits to four sessions side
// by side and says what was acknowledged.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Durability: Normal})
	if err != nil {
		return err
	}
	acks := make(chan string)
	failed := make(chan error)
	for n := range killSessions {
		go func() {
			id := fmt.Sprintf("%s-%d", s.Instance(), n)
			if err := s.Commit(ctx, newSession(id)); err != nil {
				failed <- err
				return
			}
			for seq := uint64(0); ; seq += killBatch {
				if err := s.Commit(ctx, furtherBatch(id, seq, killBatch)); err != nil {
					failed <- err
					return
				}
				acks <- fmt.Sprintf("%s %d", id, seq+killBatch)
			}
		}()
	}
	for {
		select {
		case ack := <-acks:
			fmt.Println(ack)
		case err := <-failed:
			return err
		}
	}
}

// killSessions write batches of killBatch events each.
const killSessions, killBatch = 4, 3

func TestKilledWritersLoseNothingThatTheyAcknowledged(t *testing.T) {
	for servers := 1; servers <= 3; servers++ {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			path := t.TempDir() + "/harness.db"
			acked := map[string]uint64{}
			note := func(line string) {
				var id string
				var seq uint64
				if n, _ := fmt.Sscanf(line, "%s %d", &id, &seq); n == 2 {
					acked[id] = seq
				}
			}
			var writers []*server
			for range servers {
				writers = append(writers, startServer(t, "write", path))
			}
			for round := range 150 {
				for i, w := range writers {
					if round < 100+17*i { // the others go on when one is killed
						note(w.line(t))
					} else if round == 100+17*i {
						for _, line := range w.kill(t) {
							note(line)
						}
					}
				}
			}
			if len(acked) != servers*killSessions {
				t.Errorf("%d sessions were acknowledged, want %d", len(acked), servers*killSessions)
			}
			checkJournals(t, openTest(t, path), acked)
		})
	}
}

// checkJournals wants every acknowledged event, no gap and no half batch.
func checkJournals(t *testing.T, s *Store, acked map[string]uint64) {
	t.Helper()
	for id, ack := range acked {
		events, err := s.Events(t.Context(), core.EventQuery{Owner: owner, Resource: id, Limit: maxRows})
		if err != nil {
			t.Fatal(err)
		}
		for i, ev := range events {
			if ev.Seq != uint64(i+1) {
				t.Fatalf("%s: event %d has seq %d", id, i, ev.Seq)
			}
		}
		last, err := s.LastSeq(t.Context(), owner, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(events)%killBatch != 0 || last != uint64(len(events)) {
			t.Errorf("%s: half a batch: %d events, last seq %d", id, len(events), last)
		}
		if last < ack {
			t.Errorf("%s: lost events: %d acknowledged, %d stored", id, ack, last)
		}
	}
	var verdict string
	err := s.read(t.Context(), "checking", func(c *conn) error {
		_, err := c.one(t.Context(), "PRAGMA integrity_check", nil, &verdict)
		return err
	})
	if err != nil || verdict != "ok" {
		t.Errorf("integrity check: %s, %v", verdict, err)
	}
}
