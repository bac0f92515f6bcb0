package pi

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

var recordInto = flag.String("record", "", "write conversations with the real CLIs into this directory, such as testdata")

// gateName is the gate's in one session.
var gateName = regexp.MustCompile(`harness-mcp-gate-[0-9a-f-]{36}`)

// tape is a Runner that records the input and output of its children.
type tape struct {
	process.Runner
	clean *strings.Replacer // takes out what is of this machine

	mu  sync.Mutex
	out bytes.Buffer
}

func (r *tape) Start(ctx context.Context, spec process.Spec) (process.Child, error) {
	child, err := r.Runner.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	go func() { // ends with the child
		lines := ndjson.NewReader(child.Stdout(), 0)
		for {
			line, err := lines.Next()
			if err != nil {
				_ = in.CloseWithError(err)
				return
			}
			r.line("<-", line)
			if _, err := in.Write(append(line, '\n')); err != nil {
				return
			}
		}
	}()
	return &taped{Child: child, tape: r, out: out}, nil
}

// line keeps one record without the fields that are not read.
func (r *tape) line(dir string, raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	if m["type"] == "agent_end" {
		m["messages"] = []any{}
	}
	if msg, ok := m["message"].(map[string]any); ok {
		if msg["role"] == "system" {
			m["message"] = map[string]any{"role": "system", "content": ""}
		} else if m["type"] == "message_update" {
			delete(m, "message") // old releases repeat it in each
		}
	}
	if e, ok := m["assistantMessageEvent"].(map[string]any); ok {
		delete(e, "partial")
	}
	text, err := ndjson.Encode(map[string]any{"dir": dir, "msg": m})
	if err == nil {
		r.out.WriteString(gateName.ReplaceAllString(r.clean.Replace(string(text)), testChannel))
	}
}

type taped struct {
	process.Child
	tape *tape
	out  *io.PipeReader
}

func (c *taped) Stdout() io.Reader     { return c.out }
func (c *taped) Stdin() io.WriteCloser { return &tapedInput{c.Child.Stdin(), c.tape} }

type tapedInput struct {
	io.WriteCloser
	tape *tape
}

func (w *tapedInput) Write(p []byte) (int, error) {
	w.tape.line("->", p)
	return w.WriteCloser.Write(p)
}

// TestRecord is a tool and no test: with -record it writes the conversations
// that the golden test plays.
func TestRecord(t *testing.T) {
	if *recordInto == "" {
		t.Skip("it writes files, and only with -record")
	}
	for name, where := range releases {
		b := newBench(t, where)
		b.extend()
		r := &tape{Runner: b.runner, clean: strings.NewReplacer(b.root, "/home/user", b.model.URL(), "http://127.0.0.1:1")}
		b.runner = r
		c := b.open(b.session())
		approve := core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
		turn := func(name string, answers []core.Response, script ...string) {
			c.Start(name, script...)
			for _, a := range answers {
				c.Send(core.Respond{ID: c.NextOp(), Ref: c.Request().Ref, Response: a})
			}
			c.TurnEnded(name)
		}
		turn("1", nil, "think deeply", "say hello")
		turn("2", []core.Response{approve}, Call("echo out; exit 3"), "say failed")
		turn("3", []core.Response{{Action: core.ActionDeny, Reason: "not now"}}, Call("touch no"), "say denied")
		turn("4", []core.Response{approve, approve}, call("write", object{"path": "new.txt", "content": "one\n"}),
			call("edit", object{"path": "new.txt", "edits": []object{{"oldText": "one", "newText": "two"}}}), "say edited")
		turn("5", []core.Response{approve, {Action: core.ActionAnswer, Answers: map[string][]string{questionID: {"blue"}}}},
			call("survey", object{"how": "select"}), "say asked")
		turn("6", nil, "once fail 500", "say retried")
		turn("7", nil, "fail 401")
		turn("8", []core.Response{{Action: core.ActionCancel}}, Call("touch no"), "say no")
		c.Start("9", "slow 50", "stream 200")
		conntest.Content[core.MessageDelta](c)
		c.Send(core.Interrupt{ID: c.NextOp(), TurnID: "9"})
		c.TurnEnded("9")
		turn("10", nil, "say still here")
		c.Close()
		file := filepath.Join(*recordInto, "gate-"+name+".jsonl")
		if err := os.WriteFile(file, r.out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
