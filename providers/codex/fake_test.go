package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// fake is an app-server in memory, played by the test.
type fake struct {
	*clitest.Child
	t *testing.T
}

func newFake(t *testing.T) *fake { return &fake{clitest.NewChild(), t} }

// expect reads what the adapter sends next.
func (f *fake) expect(method string) frameOf {
	f.t.Helper()
	line, err := f.In.Next()
	if err != nil {
		f.t.Errorf("instead of %s: %v", method, err)
		return frameOf{}
	}
	var m frameOf
	if err := json.Unmarshal(line, &m); err != nil || m.Method != method {
		f.t.Errorf("the adapter said %s, not %s", line, method)
	}
	return m
}

// say writes a line, with THREAD and TURN for the ids of the fake's thread.
func (f *fake) say(format string, args ...any) {
	f.t.Helper()
	line := strings.NewReplacer("THREAD", `"threadId":"thread"`, "TURN", `"threadId":"thread","turnId":"t1"`).Replace(format)
	if len(args) > 0 {
		line = fmt.Sprintf(line, args...)
	}
	if _, err := io.WriteString(f.Out, line+"\n"); err != nil {
		f.t.Logf("say: %v", err)
	}
}

func (f *fake) reply(m frameOf, result string) { f.say(`{"id":%s,"result":%s}`, m.ID, result) }

// handshake plays the opening.
func (f *fake) handshake() {
	f.reply(f.expect("initialize"), `{"userAgent":"harness-mcp/9.9.9 (test)","codexHome":"/home/x"}`)
	f.expect("initialized")
	f.reply(f.expect("thread/start"), `{"thread":{"id":"thread"},"model":"m","reasoningEffort":"low","sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":true,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`)
}

// play runs a test against a fake that has been opened, in a bubble of time.
func play(t *testing.T, cfg core.SessionConfig, test func(f *fake, r *conntest.Recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go f.handshake()
		conn, err := fakeProvider(t, f).Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := conntest.Record(t, conn)
		test(f, r)
		r.Close()
	})
}

func fakeProvider(t *testing.T, f *fake) core.Provider {
	t.Helper()
	self, err := os.Executable() // any file that exists
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Runner: f, Exec: self})
}

// begin starts a turn and has it accepted.
func (f *fake) begin(r *conntest.Recorder, turn string) {
	f.t.Helper()
	op := r.Start(turn, "go")
	f.reply(f.expect("turn/start"), `{"turn":{"id":"t1","status":"inProgress"}}`)
	f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"t1","status":"inProgress"}}}`)
	if done := r.OpDone(op); done.Err != nil || done.Ref != "t1" {
		f.t.Errorf("start: %+v", done)
	}
}

func (f *fake) end(status string) {
	f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"t1","status":"%s","items":[]}}}`, status)
}
