//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// takeoverLimit is how long after its server's end anything may live on whose
// guard has died too, where another server is on the same journal: its look
// every five seconds, and the time to end what it finds.
const takeoverLimit = 12 * time.Second

// startTwoServers runs two servers on one journal: the first with processes of every
// kind that a marker shows, the second with one of its own. It ends the first
// with its guards, so that only the other server is left to see to them.
func startTwoServers(t *testing.T) (takeover *mcptest.Client, ids []string, tag, own string, bystander int) {
	t.Helper()
	for _, name := range []string{"setsid", "sleep", "env"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("this system has no " + name)
		}
	}
	tag, own = fmt.Sprintf("37%02d.%d", time.Now().Nanosecond()%100, time.Now().UnixNano()%1e9), oddSeconds()
	other := exec.Command("sleep", tag)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range tagged(t, tag) { // what a failed test leaves
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = other.Process.Kill()
		_ = other.Wait() // killed, as it was
	})
	db := t.TempDir() + "/journal.db"
	srv, c := orphanServer(t, db)
	_, takeover = orphanServer(t, db)
	if res, err := takeover.Call(t.Context(), "start_process", map[string]any{"executable": "sleep", "argv": []string{own}, "title": own}); err != nil || res.IsError {
		t.Fatalf("start_process: %s, %v", res.Text, err)
	}
	for range 3 {
		if err := startOrphanTree(c, tag, "SIGKILL with its guards"); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the descendants", func() bool { return len(tagged(t, tag)) >= 12 })
	for _, p := range processesOf(t, c, true) {
		if p.Title != own {
			ids = append(ids, p.ProcessID)
		}
	}
	endServer(t, srv, c, "SIGKILL with its guards")
	if len(tagged(t, tag)) < 2 {
		t.Fatal("everything ended by itself: this test tests nothing")
	}
	return takeover, ids, tag, own, other.Process.Pid
}

type ranProcess struct {
	ProcessID string `json:"process_id"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
}

func processesOf(t *testing.T, c *mcptest.Client, live bool) []ranProcess {
	t.Helper()
	res, err := c.Call(t.Context(), "list", map[string]any{"kind": "processes", "live": live})
	var list struct {
		Items []ranProcess `json:"items"`
	}
	if err == nil {
		err = json.Unmarshal(res.Structured, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// leftOf is what is there with a tag, but for the bystander.
func leftOf(t *testing.T, tag string, bystander int) []int {
	t.Helper()
	return slices.DeleteFunc(tagged(t, tag), func(pid int) bool { return pid == bystander })
}

// untouched fails unless the second server's own process and the bystander are alive.
func untouched(t *testing.T, own string, bystander int) {
	t.Helper()
	if len(tagged(t, own)) == 0 {
		t.Error("the survivor's own process was ended")
	}
	if syscall.Kill(bystander, 0) != nil || stateOf(bystander) == "Z" {
		t.Error("a bystander was ended")
	}
}

func TestASurvivorEndsWhatADeadServerLeftAtItsNextLook(t *testing.T) {
	takeover, _, tag, own, bystander := startTwoServers(t)
	for limit := time.Now().Add(takeoverLimit); len(leftOf(t, tag, bystander)) > 0; time.Sleep(20 * time.Millisecond) { // other processes are waited for
		if time.Now().After(limit) {
			t.Fatalf("survivors: %v", leftOf(t, tag, bystander))
		}
	}
	untouched(t, own, bystander)
	waitFor(t, "the journal", func() bool { return len(processesOf(t, takeover, true)) == 1 })
}

func TestWhoMeetsADeadServersProcessEndsItBeforeItSaysSo(t *testing.T) {
	takeover, ids, tag, own, bystander := startTwoServers(t)
	if len(ids) == 0 {
		t.Fatal("no processes were listed")
	}
	res, err := takeover.Call(t.Context(), "inspect", map[string]any{"id": ids[0]})
	left := leftOf(t, tag, bystander)
	var p ranProcess
	if err == nil {
		err = json.Unmarshal(res.Structured, &p)
	}
	if err != nil || p.Status != "failed" || p.Reason != "server_restarted" {
		t.Errorf("inspect: %s, %v", res.Structured, err)
	}
	if len(left) > 0 {
		t.Errorf("it is said to have ended, and there is %v", left)
	}
	untouched(t, own, bystander)
}
