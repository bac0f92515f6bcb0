package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
)

// helperVar makes the test binary play one of the programs in helpers.
const helperVar = "PROCESS_TEST_HELPER"

// testInstance is unique, as an instance has to be: other test runs may go on
// beside this one.
var testInstance = core.NewID("ins_")

func TestMain(m *testing.M) {
	Init()
	if name := os.Getenv(helperVar); name != "" {
		helpers[name](os.Args[1:])
		os.Exit(0)
	}
	// A signal that whoever started the tests ignores, as nohup does, would be
	// ignored by the plain layers' commands too: take it, so that it is not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// A race detector makes each program wait at its end, unless told not to.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// helpers are the commands that the tests run.
var helpers map[string]func(args []string)

func init() {
	helpers = map[string]func([]string){
		"args":     func(args []string) { fmt.Printf("%q", args) },
		"env":      func([]string) { fmt.Print(strings.Join(os.Environ(), "\n")) },
		"hang":     func([]string) { hang() },
		"bulk":     bulk,
		"cat":      func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"exit":     func(args []string) { code, _ := strconv.Atoi(args[0]); os.Exit(code) },
		"signals":  signals,
		"stubborn": stubborn,
		"family":   spawnFamily,
		"middle":   middle,
		"server":   server,
		"relay":    relay,
	}
}

func hang() { time.Sleep(time.Hour) }

// bulk writes args[0] bytes and a last word.
func bulk(args []string) {
	n, _ := strconv.Atoi(args[0])
	block := []byte(strings.Repeat("0123456789abcde\n", 4096))
	for n > 0 {
		b := block[:min(n, len(block))]
		if _, err := os.Stdout.Write(b); err != nil {
			os.Exit(1)
		}
		n -= len(b)
	}
	fmt.Print("end")
}

// signals ends at the first INT or TERM and says which, or at its end of input.
func signals([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	eof := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(eof) }()
	fmt.Println("ready")
	select {
	case s := <-c:
		fmt.Println(s)
	case <-eof:
		fmt.Println("eof")
	}
}

// stubborn says what it is asked and stays.
func stubborn([]string) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); fmt.Println("eof") }()
	fmt.Println("ready")
	for s := range c {
		fmt.Println(s)
	}
}

// spawnFamily starts, as args say, a child in the own group ("plain"), one in a
// session of its own ("setsid"), a daemon whose parent is gone ("daemon"), and
// one without environment ("bare"), and says their pids. Then it ends ("exit"),
// or hangs.
func spawnFamily(args []string) {
	stay := true
	for _, kind := range args {
		switch kind {
		case "plain":
			fmt.Println(respawn("hang", nil, false).Process.Pid)
		case "setsid":
			fmt.Println(respawn("hang", nil, true).Process.Pid)
		case "bare":
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{helperVar + "=hang"}
			cmd.SysProcAttr = ownSession()
			must(cmd.Start())
			fmt.Println(cmd.Process.Pid)
		case "daemon":
			cmd := respawn("middle", os.Stdout, true)
			must(cmd.Wait())
		case "exit":
			stay = false
		}
	}
	fmt.Println("ready")
	if stay {
		hang()
	}
}

// middle is the process between a daemon and its starter.
func middle([]string) {
	fmt.Println(respawn("hang", nil, true).Process.Pid)
}

// server is a program with a Local, which runs a family and waits to be killed.
func server(args []string) {
	l := NewLocal(Options{Guard: GuardRequired})
	env := append(os.Environ(), helperVar+"=family")
	c, err := l.Start(context.Background(), Spec{Path: os.Args[0], Args: args, Env: env, Resource: "ses_1"})
	must(err)
	fmt.Println(c.PID())
	fmt.Println(c.(*child).root.Load())
	_, _ = io.Copy(os.Stdout, c.Stdout())
	hang()
}

// relay runs a command under a guard and passes its output on.
func relay(args []string) {
	c, err := NewLocal(Options{Guard: GuardRequired}).Start(context.Background(), Spec{Path: args[0], Args: args[1:]})
	must(err)
	_, _ = io.Copy(os.Stdout, c.Stdout())
	must(c.Kill())
}

// respawn runs the test binary as another helper with the same environment.
func respawn(name string, stdout io.Writer, session bool) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVar+"="+name)
	cmd.Stdout = stdout
	if session {
		cmd.SysProcAttr = ownSession()
	}
	must(cmd.Start())
	return cmd
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// helper returns the spec of a helper program.
func helper(name string, args ...string) Spec {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Spec{
		Path: exe, Args: args, Resource: "ses_test",
		Env: []string{helperVar + "=" + name, "GORACE=atexit_sleep_ms=0"},
	}
}

// modes runs a test with and, where there are any, without guards.
func modes(t *testing.T, f func(t *testing.T, o Options)) {
	for _, mode := range []struct {
		name  string
		guard GuardMode
	}{{"guard", GuardRequired}, {"plain", GuardOff}} {
		t.Run(mode.name, func(t *testing.T) {
			if mode.guard == GuardRequired && !guardReady() {
				t.Skip("this system has no guards")
			}
			f(t, Options{Guard: mode.guard, Instance: testInstance})
		})
	}
}

// start starts a command that the test's end kills.
func start(t testing.TB, o Options, spec Spec) *child {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	c, err := NewLocal(o).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		c.(*child).closePipes()
	})
	return c.(*child)
}

// lines reads lines up to and without "ready".
func lines(t testing.TB, r io.Reader) []string {
	t.Helper()
	var out []string
	for s := bufio.NewReader(r); ; {
		line, err := s.ReadString('\n')
		if err != nil {
			t.Fatalf("no ready line after %q: %v", out, err)
		}
		if line = strings.TrimSpace(line); line == "ready" {
			return out
		}
		out = append(out, line)
	}
}

func pids(t testing.TB, lines []string) []int {
	t.Helper()
	var out []int
	for _, l := range lines {
		pid, err := strconv.Atoi(l)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// eventually looks again and again until ok, for ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(limit) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// childLog is a core.ChildLog in memory that can fail.
type childLog struct {
	mu   sync.Mutex
	rows []core.Child
	fail error
	puts int
}

func (l *childLog) PutChild(_ context.Context, c core.Child) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.puts++
	if l.fail != nil {
		return l.fail
	}
	l.rows = append(l.rows, c)
	return nil
}

func (l *childLog) DeleteChild(_ context.Context, instance string, pid int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = slices.DeleteFunc(l.rows, func(c core.Child) bool { return c.Instance == instance && c.PID == pid })
	return nil
}

func (l *childLog) Children(_ context.Context, instance string) ([]core.Child, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []core.Child
	for _, c := range l.rows {
		if instance == "" || c.Instance == instance {
			out = append(out, c)
		}
	}
	return out, nil
}

// instances is a core.Instances with a fixed set of the living.
type instances struct {
	self  string
	alive []string
}

func (i instances) Instance() string     { return i.self }
func (i instances) Alive(id string) bool { return slices.Contains(i.alive, id) }
func (i instances) Elected() bool        { return true }
