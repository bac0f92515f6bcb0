package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
)

// patience bounds each wait of these tests on a loaded machine.
const patience = 90 * time.Second

// binary is the program as it ships, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(scriptedAgentVar) != "" {
		_ = acpscript.Run(os.Stdin, os.Stdout, acpscript.Options{}) // it ends with its input
		return
	}
	dir, err := os.MkdirTemp("", "harness-mcp-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "harness-mcp")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// agent is a real CLI on the loopback model, and the prompts that make it do
// things.
type agent struct {
	provider string
	pathDir  string            // where its executable is
	env      map[string]string // what points it at the loopback model
	model    *modelserver.Server
	// escalate asks for an approval and then creates the file.
	escalate func(file string) string
	// sleep runs a command that sleeps that long, recognisable by seconds.
	sleep func(seconds string) string
	// free is what a session needs so that sleep runs unasked.
	free args
	// noDeny means that a refusal ends this agent's turn, so that its requests
	// offer cancel and no deny.
	noDeny bool
	// forgets means that a kill costs this agent its conversation.
	forgets bool
}

// scenario is an MCP client that is not ours, on the built program, with one agent.
type scenario struct {
	*e2e.Client
	t     *testing.T
	agent agent
	db    string
	cwd   string
}

func newScenario(t *testing.T, a agent) *scenario {
	t.Helper()
	r := &scenario{t: t, agent: a, cwd: t.TempDir(), db: filepath.Join(t.TempDir(), "journal.db")}
	r.connect()
	return r
}

// connect starts a server on the journal, as after a restart of the client.
func (r *scenario) connect() {
	r.t.Helper()
	argv := []string{binary, "serve", "--db", r.db, "--path-dir", r.agent.pathDir}
	r.Client = e2e.Start(r.t, argv, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + r.t.TempDir(), "HOME=" + r.t.TempDir()})
}

// got has what the tests read of any reply.
type got struct {
	SessionID     string `json:"session_id"`
	TurnID        string `json:"turn_id"`
	ProcessID     string `json:"process_id"`
	RequestID     string `json:"request_id"`
	Status        string `json:"status"`
	SessionStatus string `json:"session_status"`
	Reason        string `json:"reason"`
	Text          string `json:"text"`
	Outcome       string `json:"outcome"`
	Cursor        uint64 `json:"cursor"`
	More          bool   `json:"more"`
	Error         struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Hint    string         `json:"hint"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Turn     *got  `json:"turn"`
	LastTurn *got  `json:"last_turn"`
	Results  []got `json:"results"`
	Pending  []got `json:"pending_requests"`
	Items    []got `json:"items"`
	Events   []struct {
		Seq    uint64         `json:"seq"`
		Type   string         `json:"type"`
		TurnID string         `json:"turn_id"`
		Data   map[string]any `json:"data"`
	} `json:"events"`
}

type args = map[string]any

func (r *scenario) try(tool string, a args) (got, mcptest.Result) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	res, err := r.Call(ctx, tool, a)
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	var g got
	if err := json.Unmarshal(res.Structured, &g); err != nil {
		r.t.Fatalf("%s answered %s: %v", tool, res.Structured, err)
	}
	return g, res
}

func (r *scenario) must(tool string, a args) got {
	r.t.Helper()
	g, res := r.try(tool, a)
	if res.IsError {
		r.t.Fatalf("%s %v: %s", tool, a, res.Text)
	}
	return g
}

func (r *scenario) start(extra args) string {
	r.t.Helper()
	a := args{"provider": r.agent.provider, "cwd": r.cwd, "env": r.agent.env}
	for k, v := range extra {
		a[k] = v
	}
	return r.must("start_session", a).SessionID
}

func (r *scenario) send(session, prompt string) string {
	r.t.Helper()
	return r.must("send_message", args{"session_id": session, "prompt": prompt}).TurnID
}

// await waits until all of them are done, or one asks.
func (r *scenario) await(ids ...string) got {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		g := r.must("await", args{"ids": ids, "wait_ms": 20000})
		if g.Outcome != "timeout" {
			return g
		}
	}
	r.t.Fatalf("%v did not come to rest: %+v", ids, r.must("inspect", args{"id": ids[0]}))
	return got{}
}

// until waits until an event of the type is in the journal.
func (r *scenario) until(id, typ string) {
	r.t.Helper()
	after := uint64(0)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		g := r.must("replay", args{"id": id, "after": after, "view": "events", "limit": 1000, "max_bytes": 1 << 20})
		for _, e := range g.Events {
			if e.Type == typ {
				return
			}
		}
		after = max(after, g.Cursor)
		r.must("await", args{"ids": []string{id}, "wait_ms": 200, "wake_on_request": false})
	}
	r.t.Fatalf("no %s in the journal of %s", typ, id)
}

// check reads the whole journal and holds it to what every journal promises.
func (r *scenario) check(session string) {
	r.t.Helper()
	ended := map[string]int{}
	deltas := map[string]string{}
	open := map[string]bool{}
	last, after := uint64(0), uint64(0)
	for more := true; more; {
		g := r.must("replay", args{"id": session, "after": after, "view": "events", "limit": 1000, "max_bytes": 1 << 20})
		for _, e := range g.Events {
			if e.Seq <= last {
				r.t.Errorf("seq %d follows %d", e.Seq, last)
			}
			last = e.Seq
			item, _ := e.Data["item"].(string)
			text, _ := e.Data["text"].(string)
			switch e.Type {
			case "turn_accepted", "turn_queued":
				open[e.TurnID] = true
			case "message_delta":
				deltas[item] += text
			case "message":
				if d, ok := deltas[item]; ok && d != text {
					r.t.Errorf("message %q, its deltas join to %q", text, d)
				}
			case "turn_completed", "turn_failed", "turn_cancelled", "turn_interrupted":
				ended[e.TurnID]++
			}
			if e.TurnID != "" && ended[e.TurnID] > 0 && !strings.HasPrefix(e.Type, "turn_") {
				r.t.Errorf("%s of turn %s after its end", e.Type, e.TurnID)
			}
		}
		after, more = g.Cursor, g.More
	}
	for id := range open {
		if ended[id] != 1 {
			r.t.Errorf("turn %s has %d terminal events", id, ended[id])
		}
	}
}

func TestMainScenarios(t *testing.T) {
	agents := map[string]func(*testing.T) agent{"codex": codexAgent, "codex 0.150.0": oldCodexAgent, "claude": claudeAgent, "claude 2.1.197": oldClaudeAgent, "pi": piAgent, "pi 0.73.1": oldPiAgent}
	maps.Copy(agents, acpAgents())
	for name, find := range agents {
		t.Run(name, func(t *testing.T) {
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) { s.play(newScenario(t, find(t))) })
			}
		})
	}
}

var scenarios = []struct {
	name string
	play func(*scenario)
}{
	{"two turns share their context", twoTurns},
	{"an approval accepted, declined and cancelled", approvals},
	{"follow-ups run in order", followUps},
	{"interrupt mid-stream", func(r *scenario) {
		r.interruptOnce("slow 50\nstream 2000", func(turn string) { r.until(turn, "message_delta") })
	}},
	{"interrupt mid-command", interruptCommand},
	{"interrupt right after send", func(r *scenario) { r.interruptOnce("slow 50\nstream 2000", func(string) {}) }},
	{"the server is killed mid-turn", serverKilled},
}

func twoTurns(r *scenario) {
	s := r.start(nil)
	r.await(r.send(s, "say The word is heron."))
	g := r.await(r.send(s, "remember"))
	if text := g.Results[0].Text; !strings.Contains(text, "The word is heron.") {
		r.t.Errorf("the second turn knows nothing of the first: %q", text)
	}
	r.check(s)
	if g := r.must("close", args{"id": s}); g.Status != "closed" {
		r.t.Errorf("closed session is %s", g.Status)
	}
}

func approvals(r *scenario) {
	s := r.start(nil)
	for _, c := range []struct {
		action, status string
		made           bool
	}{{"approve", "completed", true}, {"deny", "completed", false}, {"cancel", "cancelled", false}} {
		file := filepath.Join(r.cwd, c.action+".txt")
		turn := r.send(s, r.agent.escalate(file)+"\nsay over")
		g := r.await(turn)
		if g.Outcome != "request_pending" {
			r.t.Fatalf("%s: outcome %s: %+v", c.action, g.Outcome, g.Results)
		}
		req := g.Results[0].Pending[0].RequestID
		if c.action == "deny" && r.agent.noDeny {
			if g, _ := r.try("respond", args{"request_id": req, "action": "deny"}); g.Error.Code != "action_unsupported" {
				r.t.Errorf("deny gave %q", g.Error.Code)
			}
			c.action, c.status = "cancel", "cancelled"
		}
		r.must("respond", args{"request_id": req, "action": c.action})
		if _, res := r.try("respond", args{"request_id": req, "action": "approve"}); !res.IsError || !strings.HasPrefix(res.Text, "request_not_pending") {
			r.t.Errorf("a second answer: %s", res.Text)
		}
		if g := r.await(turn); g.Results[0].Status != c.status {
			r.t.Errorf("%s: turn is %s, want %s", c.action, g.Results[0].Status, c.status)
		}
		if _, err := os.Stat(file); (err == nil) != c.made {
			r.t.Errorf("%s: the command's file: %v", c.action, err)
		}
	}
	r.check(s)
}

func followUps(r *scenario) {
	s := r.start(nil)
	first := r.send(s, "slow 100\nstream 20")
	ids := []string{first}
	for i := range 3 {
		g := r.must("follow_up", args{"session_id": s, "prompt": "say number " + strconv.Itoa(i)})
		ids = append(ids, g.TurnID)
	}
	if _, res := r.try("send_message", args{"session_id": s, "prompt": "say no"}); !res.IsError || !strings.HasPrefix(res.Text, "turn_in_progress") {
		r.t.Errorf("a second message: %s", res.Text)
	}
	g := r.await(ids...)
	for i, x := range g.Results {
		if x.TurnID != ids[i] || x.Status != "completed" {
			r.t.Errorf("finished at place %d: %s %s", i, x.TurnID, x.Status)
		}
	}
	if text := g.Results[3].Text; text != "number 2" {
		r.t.Errorf("the last turn said %q", text)
	}
	r.check(s)
}

// interruptOnce stops a turn once it is where when waits for, and the session
// goes on.
func (r *scenario) interruptOnce(prompt string, when func(turn string)) {
	s := r.start(r.agent.free)
	turn := r.send(s, prompt)
	when(turn)
	r.must("interrupt", args{"session_id": s})
	if g := r.await(turn); g.Results[0].Status != "cancelled" {
		r.t.Errorf("turn is %s (%s)", g.Results[0].Status, g.Results[0].Reason)
	}
	if g := r.await(r.send(s, "say still here")); g.Results[0].Text != "still here" {
		r.t.Errorf("after it: %+v", g.Results[0])
	}
	r.check(s)
}

// interruptCommand waits until the command runs: some agents tell of it before,
// and then run it in spite of the interrupt.
func interruptCommand(r *scenario) {
	seconds := oddSeconds()
	r.interruptOnce(r.agent.sleep(seconds), func(turn string) {
		r.until(turn, "tool_started")
		waitFor(r.t, "the command", func() bool { return len(commands("sleep "+seconds)) > 0 })
	})
	awaitGone(r.t, "sleep "+seconds)
}

func serverKilled(r *scenario) {
	s := r.start(r.agent.free)
	r.await(r.send(s, "say The word is heron."))
	seconds := oddSeconds()
	turn := r.send(s, r.agent.sleep(seconds))
	r.until(turn, "tool_started")
	waitFor(r.t, "the command", func() bool { return len(commands("sleep "+seconds)) > 0 })
	if err := r.Signal(r.t.Context(), "SIGKILL"); err != nil {
		r.t.Fatal(err)
	}
	awaitGone(r.t, "sleep "+seconds) // before any next start
	r.connect()
	g := r.must("inspect", args{"id": turn})
	if g.Status != "interrupted" || g.Reason != "server_restarted" {
		r.t.Errorf("the turn is %s, reason %s", g.Status, g.Reason)
	}
	if g := r.must("inspect", args{"id": s}); g.Status != "unavailable" {
		r.t.Errorf("the session is %s", g.Status)
	}
	if r.agent.forgets {
		if g, _ := r.try("start_session", args{"resume": s, "env": r.agent.env}); g.Error.Code != "start_failed" {
			r.t.Errorf("a conversation that is gone: %q", g.Error.Code)
		}
		return
	}
	r.must("start_session", args{"resume": s, "env": r.agent.env})
	if text := r.await(r.send(s, "remember")).Results[0].Text; !strings.Contains(text, "The word is heron.") {
		r.t.Errorf("the resumed conversation remembers %q", text)
	}
	r.check(s)
}

// oddSeconds returns a duration that no other sleep on the machine has.
func oddSeconds() string {
	return fmt.Sprintf("%d.%d", 400+os.Getpid()%100, time.Now().UnixNano()%1e9)
}

// commands returns the pids of processes whose command line contains words.
func commands(words string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(raw), "\x00", " "), words) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitGone(t *testing.T, words string) {
	t.Helper()
	waitFor(t, "the end of "+words, func() bool { return len(commands(words)) == 0 })
}

// waitFor polls a condition outside of the product until it holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited too long for %s", what)
		}
	}
}
