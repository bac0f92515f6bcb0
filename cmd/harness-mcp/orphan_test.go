//go:build linux

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// Rounds of the campaign: few for every change. HARNESS_MCP_ORPHAN_ROUNDS sets
// another number; the nightly run has 50.
const (
	orphanRounds    = 10
	orphanRoundsVar = "HARNESS_MCP_ORPHAN_ROUNDS"
)

// orphanChildren is how many processes each server runs.
const orphanChildren = 10

// orphanLimit is how long after its server's end anything may live on.
const orphanLimit = 5 * time.Second

// kinds are the descendants that each process starts. All ignore INT, TERM and
// HUP, and the tag in their arguments tells us which they are.
var kinds = map[string]string{
	"plain":    `sleep TAG &`,
	"setsid":   `setsid sleep TAG &`,
	"daemon":   `(setsid sh -c 'sleep TAG &' &)`,
	"deep":     `sh -c 'trap "" INT TERM HUP; setsid sh -c "sleep TAG & sleep TAG" & sleep TAG' &`,
	"bare":     `env -i "$(command -v setsid)" "$(command -v sleep)" TAG &`,
	"marked":   `HARNESS_MCP_PARENT=ins_other:prc_other setsid sleep TAG &`,
	"unmarked": `(unset HARNESS_MCP_PARENT; setsid sh -c 'sleep TAG &' &)`,
}

// markerless are the kinds that only a guard can know as its own.
var markerless = []string{"bare", "marked", "unmarked"}

// ends are the ways in which a server ends.
var ends = []string{"SIGKILL", "SIGTERM", "end of input", "SIGKILL with its guards"}

func TestOrphanCampaign(t *testing.T) {
	for _, name := range []string{"setsid", "sleep", "env"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("this system has no " + name)
		}
	}
	rounds := orphanRounds
	if v := os.Getenv(orphanRoundsVar); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d rounds with the seed %d", rounds, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	db := filepath.Join(t.TempDir(), "journal.db")
	for i := range rounds {
		end := ends[i%len(ends)]
		t.Run(fmt.Sprintf("%d %s", i+1, end), func(t *testing.T) {
			orphanRound(t, db, end, time.Duration(rng.IntN(900))*time.Millisecond)
		})
	}
}

// orphanRound runs a server with children, ends it at some moment, looks, and
// starts it again.
func orphanRound(t *testing.T, db, end string, after time.Duration) {
	tag := fmt.Sprintf("36%02d.%d", time.Now().Nanosecond()%100, time.Now().UnixNano()%1e9)
	bystander := exec.Command("sleep", tag)
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait() // killed, as it was
	})
	srv, c := orphanServer(t, db)
	begun := make(chan int)
	go func() {
		n := 0
		for range orphanChildren {
			if startOrphanTree(c, tag, end) == nil {
				n++
			}
		}
		begun <- n
	}()
	timer := time.NewTimer(after)
	var n int
	select {
	case n = <-begun:
		<-timer.C
	case <-timer.C:
	}
	inspected := len(tagged(t, tag)) - 1
	endServer(t, srv, c, end)
	if n == 0 {
		n = <-begun
	}
	t.Logf("%d processes begun, %d descendants seen, ended after %v", n, inspected, after)

	if end == "SIGKILL with its guards" { // only the next boot's reaper is left
		srv, c = orphanServer(t, db)
	}
	checkSurvivors(t, tag, bystander.Process.Pid)
	if end != "SIGKILL with its guards" {
		srv, c = orphanServer(t, db)
		checkSurvivors(t, tag, bystander.Process.Pid)
	}
	checkEnded(t, c)
	if p := bystander.Process; syscall.Kill(p.Pid, 0) != nil || stateOf(p.Pid) == "Z" {
		t.Error("a bystander was ended")
	}
	if z := zombiesOf(t, srv.Process.Pid); len(z) > 0 {
		t.Errorf("the server has zombies: %v", z)
	}
}

func orphanServer(t *testing.T, db string) (*exec.Cmd, *mcptest.Client) {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--db", db)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "HOME=" + t.TempDir()}
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	return cmd, c
}

// startOrphanTree starts a process with descendants of every kind. An error is that
// the server is gone.
func startOrphanTree(c *mcptest.Client, tag, end string) error {
	var lines []string
	for kind, line := range kinds {
		if end != "SIGKILL with its guards" || !slices.Contains(markerless, kind) {
			lines = append(lines, strings.ReplaceAll(line, "TAG", tag))
		}
	}
	script := `trap '' INT TERM HUP; ` + strings.Join(lines, "\n") + "\nexec sleep " + tag
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := c.Call(ctx, "start_process", map[string]any{"executable": "sh", "argv": []string{"-c", script}})
	if err == nil && res.IsError {
		err = fmt.Errorf("start_process: %s", res.Text)
	}
	return err
}

func endServer(t *testing.T, srv *exec.Cmd, c *mcptest.Client, end string) {
	t.Helper()
	var err error
	switch end {
	case "SIGKILL":
		err = srv.Process.Kill()
	case "SIGTERM":
		err = srv.Process.Signal(syscall.SIGTERM)
	case "end of input":
		err = c.CloseInput()
	default:
		guards := guardsOf(t, srv.Process.Pid)
		_ = srv.Process.Signal(syscall.SIGSTOP) // so that it sees none of them die
		for _, pid := range guards {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		err = srv.Process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Closed():
	case <-time.After(patience):
		t.Fatal("the server does not end")
	}
}

// checkSurvivors fails when something with the tag, but the bystander, is there
// after orphanLimit.
func checkSurvivors(t *testing.T, tag string, bystander int) {
	t.Helper()
	var left []int
	for limit := time.Now().Add(orphanLimit); ; time.Sleep(20 * time.Millisecond) {
		left = slices.DeleteFunc(tagged(t, tag), func(pid int) bool { return pid == bystander })
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			break
		}
	}
	t.Errorf("%d survivors: %v", len(left), left)
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// checkEnded looks for processes that the journal has as live.
func checkEnded(t *testing.T, c *mcptest.Client) {
	t.Helper()
	res, err := c.Call(t.Context(), "list", map[string]any{"kind": "processes", "live": true})
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err == nil {
		err = json.Unmarshal(res.Structured, &list)
	}
	if err != nil || len(list.Items) > 0 {
		t.Errorf("live in the journal: %s, %v", list.Items, err)
	}
}

// tagged lists the processes with a tag as an argument, zombies aside.
func tagged(t *testing.T, tag string) []int {
	t.Helper()
	var out []int
	eachProcess(t, func(pid int) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && slices.Contains(strings.Split(string(args), "\x00"), tag) && stateOf(pid) != "Z" {
			out = append(out, pid)
		}
	})
	return out
}

func guardsOf(t *testing.T, server int) []int {
	t.Helper()
	var out []int
	eachProcess(t, func(pid int) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && parentOf(pid) == server && strings.Contains(string(args), "guard") {
			out = append(out, pid)
		}
	})
	return out
}

func zombiesOf(t *testing.T, parent int) []int {
	t.Helper()
	var out []int
	eachProcess(t, func(pid int) {
		if parentOf(pid) == parent && stateOf(pid) == "Z" {
			out = append(out, pid)
		}
	})
	return out
}

func eachProcess(t *testing.T, f func(pid int)) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			f(pid)
		}
	}
}

// stat returns the fields of a process behind its name, from its state on.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return []string{"", ""}
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
	return append(strings.Fields(rest), "", "")
}

func stateOf(pid int) string { return stat(pid)[0] }

func parentOf(pid int) int {
	n, _ := strconv.Atoi(stat(pid)[1])
	return n
}
