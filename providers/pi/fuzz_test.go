package pi

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// FuzzTranslatorKeepsItsPromisesWhateverPiWrites plays lines between ops: a
// line that begins with "!" stands for an op. The responses of a script name
// the commands by the ids that the translator assigns, from h1 on.
func FuzzTranslatorKeepsItsPromisesWhateverPiWrites(f *testing.F) {
	for _, file := range conntest.Recordings(f) {
		f.Add(seedOf(f, file))
	}
	f.Add("!start\n" + `{"id":"h1","type":"response","command":"prompt","success":true}` + "\n" + agentStart + "\n!steer\n!interrupt\n" + agentEnd + "\n" + settled)
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 1<<16 {
			t.Skip("long scripts say no more than short ones")
		}
		p := player{t: t, tr: newTranslator(settings{channel: testChannel, inside: func(string) bool { return true }}), watch: providertest.NewWatch(core.Ready{})}
		for line := range strings.Lines(script) {
			if line = strings.TrimSpace(line); line != "" {
				p.play(line)
			}
		}
		p.tr.Lost()
		p.drain()
	})
}

// maxSeed keeps seeds small: the fuzzer makes what it finds minimal, which
// takes it long for a large one.
const maxSeed = 4 << 10

// seedOf makes a script of the beginning of a recorded conversation.
func seedOf(f *testing.F, file string) string {
	var b strings.Builder
	for _, l := range conntest.ReadRecording(f, file) {
		if b.Len() >= maxSeed {
			break
		}
		if l.Dir == "<-" {
			b.Write(l.Msg)
			b.WriteByte('\n')
			continue
		}
		var s spoken
		_ = json.Unmarshal(l.Msg, &s)
		if op := map[string]string{"prompt": "!start", "steer": "!steer", "abort": "!interrupt", "extension_ui_response": "!respond", "set_model": "!configure"}[s.Type]; op != "" {
			b.WriteString(op + "\n")
		}
	}
	return b.String()
}

// player plays a script and watches what comes of it.
type player struct {
	t     *testing.T
	tr    *translator
	watch *providertest.Watch
	ops   core.OpID
	turns int
	open  []string
	last  string // the running turn, as core knows it
}

func (p *player) play(line string) {
	p.ops++
	var op core.Op
	switch line {
	case "!start":
		if p.last != "" || p.tr.pending != nil {
			return // core has one at a time
		}
		p.turns++
		p.last = "turn-" + strconv.Itoa(p.turns)
		op = core.StartTurn{ID: p.ops, TurnID: p.last, Input: core.TurnInput{Prompt: "x"}}
	case "!steer":
		op = core.Steer{ID: p.ops, TurnID: p.last, Input: core.TurnInput{Prompt: "y"}}
	case "!interrupt":
		op = core.Interrupt{ID: p.ops, TurnID: p.last}
	case "!respond":
		if len(p.open) == 0 {
			return
		}
		op = core.Respond{ID: p.ops, Ref: p.open[0], Response: core.Response{Action: core.ActionCancel}}
		p.open = p.open[1:]
	case "!configure":
		op = core.Configure{ID: p.ops, Changes: core.Changes{Model: "a/b", ReasoningEffort: "low", ApprovalMode: core.ApprovalPrompt}}
	default:
		p.tr.read([]byte(line))
		p.drain()
		return
	}
	p.watch.Sending(op)
	link.Do(p.tr, op)
	p.drain()
}

func (p *player) drain() {
	out := p.tr.Take()
	for _, n := range out.Notices {
		if err := p.watch.See(n); err != nil {
			p.t.Fatalf("%v\n  at %s", err, conntest.Brief(n))
		}
		switch n := n.(type) {
		case core.RequestRaised:
			p.open = append(p.open, n.Ref)
		case core.TurnEnded:
			if n.Turn == p.last {
				p.last = ""
			}
		case core.OpDone:
			if n.Err != nil && p.tr.turn == nil && p.tr.pending == nil {
				p.last = ""
			}
		}
	}
	for _, l := range out.Frames {
		if l.Written != nil {
			l.Written()
			p.drain()
		}
	}
}
