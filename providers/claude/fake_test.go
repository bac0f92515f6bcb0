package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// fakeVar makes the test binary play the CLI; its value is the part to play.
// fakeAuthVar is what `auth status` prints.
const (
	fakeVar     = "CLAUDE_TEST_FAKE"
	fakeAuthVar = "CLAUDE_TEST_FAKE_AUTH"
)

// fake is a CLI that writes what a test wants, line by line.
type fake struct {
	out  *bufio.Writer
	part string
	uuid string // of the last message
}

// say writes lines; %u stands for the uuid of the last message.
func (f *fake) say(lines ...string) {
	for _, l := range lines {
		_, _ = f.out.WriteString(strings.ReplaceAll(l, "%u", f.uuid) + "\n")
	}
	_ = f.out.Flush() // a closed pipe ends the reading soon after
}

const (
	fakeStarted = `{"type":"command_lifecycle","command_uuid":"%u","state":"started"}`
	fakeInit    = `{"type":"system","subtype":"init","session_id":"s","model":"fake","capabilities":["msg_lifecycle_v1"]}`
	fakeMessage = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"%u"}}}`
	fakeBlock   = `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text"}}}`
	fakeDelta   = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"half"}}}`
	fakeText    = `{"type":"assistant","uuid":"a","message":{"id":"%u","content":[{"type":"text","text":"half and whole"}]}}`
	fakeTool    = `{"type":"assistant","uuid":"b","message":{"id":"%u","content":[{"type":"tool_use","id":"t-%u","name":"Agent","input":{"description":"sub"}}]}}`
	fakeResult  = `{"type":"result","subtype":"success","terminal_reason":"completed","result":"half and whole","user_message_uuids":["%u"]}`
	fakeAborted = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}`
	fakeAsk     = `{"type":"control_request","request_id":"ask","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"agent_id":"sub"}}`
)

func playFake(in io.Reader, out io.Writer) {
	f := &fake{out: bufio.NewWriter(out), part: os.Getenv(fakeVar)}
	if len(os.Args) > 1 && os.Args[1] == "auth" {
		f.say(os.Getenv(fakeAuthVar))
		return
	}
	if f.part == "crash" {
		fmt.Fprintln(os.Stderr, "the token is swordfish")
		os.Exit(3)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for f.part != "mute" && lines.Scan() {
		var m struct {
			Type      string `json:"type"`
			UUID      string `json:"uuid"`
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
			Response struct {
				RequestID string `json:"request_id"`
				Response  struct {
					Behavior string `json:"behavior"`
				} `json:"response"`
			} `json:"response"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			os.Exit(1) // as the real one does
		}
		switch m.Type {
		case "control_request":
			f.control(m.RequestID, m.Request.Subtype)
		case "control_response":
			f.say(`{"type":"system","subtype":"informational","content":"` + m.Response.Response.Behavior + `"}`)
		case "user":
			f.uuid = m.UUID
			f.turn()
		}
	}
	if f.part == "mute" || f.part == "stubborn" {
		select {} // until it is killed
	}
}

func (f *fake) control(id, subtype string) {
	body := "{}"
	switch {
	case subtype == "initialize" && f.part == "keyed":
		body = `{"claude_code_version":"2.1.999","account":{"apiKeySource":"apiKeyHelper","apiProvider":"firstParty"}}`
	case subtype == "initialize":
		body = `{"claude_code_version":"2.1.999","account":{"apiProvider":"firstParty"}}`
	case subtype == "end_session" && f.part == "stubborn":
		return
	case subtype == "interrupt" && f.part == "numb":
		return
	case subtype == "interrupt":
		f.say(fakeAborted)
	}
	f.say(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, id, body))
	if subtype == "end_session" {
		os.Exit(0)
	}
}

// turn plays the answer to a message.
func (f *fake) turn() {
	switch f.part {
	case "cut":
		f.say(fakeStarted, fakeInit, fakeMessage, fakeBlock, fakeDelta)
		os.Exit(0)
	case "garbage":
		f.say(fakeStarted, "this is no JSON", `["nor","a","message"]`, `{"no":"type"}`, `{"type":"from the future","x":1}`,
			`{"type":"system","subtype":"from the future"}`, `{"type":"assistant","message":7}`, fakeInit, fakeText, fakeResult)
	case "flood":
		f.say(fakeStarted, fakeInit)
		_, _ = io.CopyN(f.out, zeros{}, 65<<20)
	case "late agent":
		f.say(fakeStarted, fakeInit, fakeTool, fakeAsk, fakeText, fakeResult)
	case "unfolded":
		if strings.HasPrefix(f.uuid, "first") {
			return
		}
		f.say(fakeStarted, fakeInit, fakeText, fakeResult)
	case "quiet", "numb":
		f.say(fakeStarted, fakeInit)
	default:
		f.say(fakeStarted, fakeInit, fakeMessage, fakeBlock, fakeDelta, fakeText, fakeResult)
	}
}

// zeros is a line without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
