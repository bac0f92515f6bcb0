package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// terminals are the commands that an agent runs through its client. Each is a
// child of our own, with its whole tree, and ends with the session at the
// latest.
type terminals struct {
	runner   process.Runner
	guard    pathGuard
	cwd      string
	env      []string
	resource string
	// output and ended report what happens; they may wait for space in the inbox.
	output func(t *terminal, text string)
	ended  func(t *terminal)

	mu     sync.Mutex
	byID   map[string]*terminal
	made   int
	closed bool
	work   sync.WaitGroup // the readers of each, and the waits
}

// terminal is one command.
type terminal struct {
	id      string
	command string // for people
	cwd     string
	item    string // the translator's, which alone uses it
	child   process.Child
	limit   int
	readers sync.WaitGroup
	done    chan struct{} // closed when it ended and its output was read

	mu        sync.Mutex
	tail      []byte
	truncated bool
}

var errNoTerminal = errors.New("there is no such terminal")

// create starts a command. An agent that sends a whole shell line as the
// command, which many do, gets a shell.
func (ts *terminals) create(ctx context.Context, p wire.CreateParams) (*terminal, error) {
	spec := process.Spec{Path: p.Command, Args: p.Args, Dir: p.CWD, Resource: ts.resource, Env: append([]string(nil), ts.env...)}
	if spec.Dir == "" {
		spec.Dir = ts.cwd
	}
	if _, _, err := ts.guard.find(spec.Dir); err != nil {
		return nil, err
	}
	if len(p.Args) == 0 && strings.ContainsAny(p.Command, " \t\n|&;<>") {
		spec.Path, spec.Args = "/bin/sh", []string{"-c", p.Command}
	}
	for _, kv := range p.Env {
		if kv.Name != "" && !strings.ContainsAny(kv.Name, "=\x00") {
			spec.Env = append(spec.Env, kv.Name+"="+kv.Value)
		}
	}
	t := &terminal{command: strings.Join(append([]string{p.Command}, p.Args...), " "), cwd: spec.Dir,
		limit: maxTerminalOutput, done: make(chan struct{})}
	if p.OutputByteLimit != nil && *p.OutputByteLimit >= 0 {
		t.limit = min(*p.OutputByteLimit, maxTerminalOutput)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.closed:
		return nil, errors.New("the session is closing")
	case len(ts.byID) >= maxTerminals:
		return nil, errors.New("there are too many terminals; release some")
	}
	child, err := ts.runner.Start(ctx, spec)
	if err != nil {
		return nil, errors.New(core.AsError(err).Message)
	}
	_ = child.Stdin().Close()
	ts.made++
	t.id, t.child = "term_"+strconv.Itoa(ts.made), child
	if ts.byID == nil {
		ts.byID = map[string]*terminal{}
	}
	ts.byID[t.id] = t
	return t, nil
}

// follow reads the output of a terminal to its end; it is called once the
// beginning was reported.
func (ts *terminals) follow(t *terminal) {
	t.readers.Add(2)
	ts.work.Add(3)
	for _, r := range []io.Reader{t.child.Stdout(), t.child.Stderr()} {
		go func() {
			defer ts.work.Done()
			defer t.readers.Done()
			ts.read(t, r)
		}()
	}
	go func() {
		defer ts.work.Done()
		<-t.child.Done()
		t.readers.Wait()
		ts.ended(t)
		close(t.done)
	}()
}

// read passes output on in whole characters.
func (ts *terminals) read(t *terminal, r io.Reader) {
	buf := make([]byte, terminalRead)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		n += kept
		whole := n
		if err == nil {
			whole = wholeRunes(buf[:n])
		}
		if whole > 0 {
			t.keep(buf[:whole])
			ts.output(t, strings.ToValidUTF8(string(buf[:whole]), "\uFFFD"))
		}
		kept = copy(buf, buf[whole:n])
		if err != nil {
			return
		}
	}
}

// wholeRunes is how much of b does not end in the middle of a character.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// keep adds to what the agent can ask for: the end of the output.
func (t *terminal) keep(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = append(t.tail, b...)
	if over := len(t.tail) - t.limit; over > 0 {
		t.truncated = true
		for over < len(t.tail) && !utf8.RuneStart(t.tail[over]) {
			over++
		}
		t.tail = append([]byte(nil), t.tail[over:]...)
	}
}

// find returns a terminal by its id.
func (ts *terminals) find(params json.RawMessage) (*terminal, error) {
	var p wire.TerminalRef
	if json.Unmarshal(params, &p) != nil {
		return nil, errors.New("the parameters cannot be read")
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byID[p.TerminalID]; t != nil {
		return t, nil
	}
	return nil, errNoTerminal
}

// shown is what terminal/output answers.
func (t *terminal) shown() wire.OutputResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := wire.OutputResult{Output: strings.ToValidUTF8(string(t.tail), "\uFFFD"), Truncated: t.truncated}
	select {
	case <-t.child.Done():
		r.ExitStatus = exitStatus(t.child.Exit())
	default:
	}
	return r
}

func exitStatus(e process.Exit) *wire.ExitStatus {
	if e.Signal != "" {
		return &wire.ExitStatus{Signal: &e.Signal}
	}
	return &wire.ExitStatus{ExitCode: &e.Code}
}

// kill ends a terminal's tree.
func (t *terminal) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), terminalStop)
	defer cancel()
	_ = t.child.Stop(ctx) // by force at the end; what is left is the runner's to log
}

// release ends a terminal and forgets it.
func (ts *terminals) release(t *terminal) {
	t.kill()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.byID, t.id)
}

// close ends all of them and returns when nothing is left.
func (ts *terminals) close() {
	ts.mu.Lock()
	ts.closed = true
	var all []*terminal
	for _, t := range ts.byID {
		all = append(all, t)
	}
	ts.mu.Unlock()
	for _, t := range all {
		_ = t.child.Kill()
	}
	ts.work.Wait()
}

// terminalStarted reports a terminal as a tool of its own.
func (t *translator) terminalStarted(x *terminal) {
	u := t.turn
	if u == nil {
		return
	}
	t.endText(u, false)
	x.item = t.item("terminal")
	u.terminals = append(u.terminals, x)
	title, _, _ := strings.Cut(x.command, "\n")
	t.content(core.ToolStarted{Item: x.item, Name: "terminal", Kind: core.ToolCommand, Title: title, Command: x.command, CWD: x.cwd}, nil)
}

// terminalOutput reports the output of a command, while its turn runs.
func (t *translator) terminalOutput(x *terminal, text string) {
	if x.item != "" {
		t.content(core.CommandOutputDelta{Item: x.item, Text: text}, nil)
		return
	}
	raw, err := json.Marshal(map[string]string{"terminalId": x.id, "text": text})
	if err == nil {
		t.event("terminal output", raw)
	}
}

// terminalEnded reports the end of a command.
func (t *translator) terminalEnded(x *terminal, exit process.Exit) {
	if x.item == "" {
		raw, err := json.Marshal(map[string]any{"terminalId": x.id, "exitStatus": exitStatus(exit)})
		if err == nil {
			t.event("terminal ended", raw)
		}
		return
	}
	done := core.ToolCompleted{Item: x.item, Status: core.ToolOK}
	switch {
	case exit.Signal != "":
		done.Status, done.Error = core.ToolCancelled, "signal "+exit.Signal
	case exit.Code != 0:
		done.Status = core.ToolFailed
		fallthrough
	default:
		done.ExitCode = &exit.Code
	}
	x.item = ""
	t.content(done, nil)
}

// leaveTerminals closes the tools of terminals that outlive their turn. What
// they write later is reported for the session.
func (t *translator) leaveTerminals(u *turn) {
	for _, x := range u.terminals {
		if x.item != "" {
			t.content(core.ToolCompleted{Item: x.item, Status: core.ToolCancelled, Error: "It runs on after its turn."}, nil)
			x.item = ""
		}
	}
}
