package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// server is harness-mcp on HTTP.
type server struct {
	url  string
	stop func() error
}

// serving is the line that the server prints once it can be reached.
var serving = regexp.MustCompile(`serves MCP on (http://\S+)`)

// endTime is how long the server may take to end; it needs about 5 s at most.
const endTime = 15 * time.Second

// startServer starts one server for the agents, on a free port of the loopback
// address. Each has a token of its own, and so a name of its own there; both run as
// this user all the same.
func startServer(ctx context.Context, dir string, o options, agents ...*agent) (*server, error) {
	argv := []string{"serve", "--http", "127.0.0.1:0", "--db", filepath.Join(dir, "journal.db")}
	var tokens strings.Builder
	for _, a := range agents {
		fmt.Fprintf(&tokens, "%s %s\n", a.name, a.token)
		argv = append(argv, "--path-dir", filepath.Dir(a.exe)) // where its provider finds it
	}
	file := filepath.Join(dir, "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(o.server, append(argv, "--token-file", file, "--shared-user")...)
	if !o.own { // nothing of the user's own
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			} else if !strings.HasPrefix(lines.Text(), "harness-mcp: ") {
				fmt.Fprintln(os.Stderr, lines.Text()) // its log
			}
		}
		ended <- cmd.Wait()
	}()
	s := &server{stop: func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			return err
		case <-time.After(endTime):
			return errors.Join(errors.New("the server did not end in time"), cmd.Process.Kill())
		}
	}}
	select {
	case s.url = <-found:
		return s, nil
	case err := <-ended:
		return nil, fmt.Errorf("the server ended: %w", err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.stop())
	}
}
