package e2e

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

//go:embed driver.mjs
var driver []byte

// Start runs a server under the TypeScript client and waits for the
// handshake. The server's environment is env, beside the few variables that
// the SDK always passes on (HOME among them: a fresh directory, unless env
// says otherwise). Both end with the test.
func Start(t testing.TB, serverArgv, env []string, config ...Config) *Client {
	t.Helper()
	node, sdk := Require(t)
	if len(config) > 0 && config[0].Modern {
		sdk = requireModern(t)
	}
	script := filepath.Join(t.TempDir(), "driver.mjs")
	if err := os.WriteFile(script, driver, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, script, arguments(t, sdk, serverArgv, env, config))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &Client{
		t: t, cmd: cmd, stderr: new(bytes.Buffer),
		ready: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		waiting: make(map[int]chan event), progress: make(map[int][]mcptest.Progress),
		changed: make(chan struct{}),
	}
	c.run()
	return c
}

func arguments(t testing.TB, sdk string, serverArgv, env []string, config []Config) string {
	t.Helper()
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	settings := map[string]any{"sdk": sdk, "command": serverArgv[0], "args": serverArgv[1:], "env": vars}
	if len(config) > 0 {
		if config[0].Dir != "" {
			settings["cwd"] = config[0].Dir
		}
		if config[0].Elicit != nil {
			settings["elicit"], settings["elicit_ms"] = config[0].Elicit, config[0].ElicitAfter.Milliseconds()
		}
		settings["modern"] = config[0].Modern
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func (c *Client) run() {
	c.t.Helper()
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	c.cmd.Stderr = c.stderr
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go c.read(out)
	c.t.Cleanup(c.stop)
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	select {
	case <-c.ready:
	case <-c.done:
		c.t.Fatalf("the TypeScript client could not connect: %s", strings.Join(c.Faults(), "; "))
	case <-timer.C:
		c.t.Fatalf("no handshake within %v", startWait)
	}
}

// stop closes the client, and kills the whole group if that takes too long.
func (c *Client) stop() {
	_ = c.in.Close() // the driver may be gone
	timer := time.AfterFunc(exitWait, func() {
		c.t.Errorf("the TypeScript client did not end within %v", exitWait)
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	})
	<-c.done
	_ = c.cmd.Wait() // how the driver ends proves nothing
	timer.Stop()
	if c.t.Failed() && c.stderr.Len() > 0 {
		c.t.Logf("stderr of the TypeScript client and its server:\n%s", c.stderr)
	}
}

func (c *Client) read(out io.Reader) {
	defer close(c.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		c.receive(lines.Bytes())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.announce()
	for id, ch := range c.waiting {
		close(ch)
		delete(c.waiting, id)
	}
}
