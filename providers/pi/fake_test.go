package pi

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// fake is a Pi in memory, played by the test.
type fake struct {
	*clitest.Child
	t *testing.T
}

func newFake(t *testing.T) *fake { return &fake{clitest.NewChild(), t} }

// heard is anything that the adapter sends.
type heard struct {
	spoken
	Cancelled bool `json:"cancelled"`
}

// expect reads what the adapter sends next.
func (f *fake) expect(kind string) heard {
	f.t.Helper()
	line, err := f.In.Next()
	if err != nil {
		f.t.Errorf("instead of %s: %v", kind, err)
		return heard{}
	}
	var m heard
	if err := json.Unmarshal(line, &m); err != nil || m.Type != kind {
		f.t.Errorf("the adapter said %s, not %s", line, kind)
	}
	return m
}

// say writes lines.
func (f *fake) say(lines ...string) {
	f.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(f.Out, l+"\n"); err != nil {
			f.t.Logf("say: %v", err)
		}
	}
}

// reply answers a command; rest is what follows "success".
func (f *fake) reply(m heard, rest string) {
	f.say(`{"id":"` + m.ID + `","type":"response","command":"` + m.Type + `","success":` + rest + `}`)
}

const idle = `true,"data":{"model":{"id":"m","provider":"p"},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"sessionId":"abc"}`

// handshake plays the opening, with the gate in place.
func (f *fake) handshake() {
	m := f.expect("get_state")
	f.say(`{"type":"extension_ui_request","id":"g","method":"setStatus","statusKey":"` + f.channel() + `","statusText":"ready"}`)
	f.reply(m, idle)
}

// channel reads the gate's name out of the extension that the adapter wrote.
func (f *fake) channel() string {
	f.t.Helper()
	for i, a := range f.Spec.Args {
		if a == "--extension" {
			text, err := os.ReadFile(f.Spec.Args[i+1])
			if err != nil {
				f.t.Error(err)
			}
			return gateName.FindString(string(text))
		}
	}
	f.t.Error("no extension among the arguments")
	return ""
}

// play runs a test against a fake that has been opened, in a bubble of time.
func play(t *testing.T, test func(f *fake, r *conntest.Recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go f.handshake()
		conn, err := fakeProvider(t, f).Open(t.Context(), core.SessionConfig{CWD: t.TempDir()})
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

const (
	agentStart = `{"type":"agent_start"}`
	agentEnd   = `{"type":"agent_end","messages":[],"willRetry":false}`
	settled    = `{"type":"agent_settled","aborted":false}`
)

// answer is a whole answer of the model.
func answer(text, stop string) string {
	return `{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"` + text + `"}],"stopReason":"` + stop + `","errorMessage":"` + strings.Repeat("500: no", b2i(stop == "error")) + `"}}`
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// begin starts a turn and has it accepted.
func (f *fake) begin(r *conntest.Recorder, turn string) {
	f.t.Helper()
	op := r.Start(turn, "go")
	f.reply(f.expect("prompt"), `true,"data":{"disposition":"started"}`)
	f.say(agentStart)
	if done := r.OpDone(op); done.Err != nil {
		f.t.Errorf("start: %v", done.Err)
	}
}

// end ends a turn on a release that reports it.
func (f *fake) end() {
	f.say(answer("done", "stop"), agentEnd)
	f.say(settled)
}

func decodeHeard(line []byte) heard {
	var m heard
	_ = json.Unmarshal(line, &m) // what fits is there
	return m
}
