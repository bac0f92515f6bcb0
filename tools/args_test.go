package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

// everyKind has an argument of every kind that a tool can take.
type everyKind struct {
	Name    string            `arg:"name,required" max:"20"`
	Mode    string            `arg:"mode" enum:"default|auto_edit"`
	Yes     bool              `arg:"yes"`
	Maybe   *bool             `arg:"maybe"`
	Count   *int64            `arg:"count" min:"1" max:"9"`
	Words   []string          `arg:"words" max:"3"`
	Env     map[string]string `arg:"env"`
	Options anyObject         `arg:"options"`
	Servers objectMap         `arg:"servers"`
	Answers answerMap         `arg:"answers"`
	Schema  rawObject         `arg:"schema" doc:"a schema"`
	Blocks  []contentBlock    `arg:"blocks"`
	waiting
	keyed
}

func read(t *testing.T, raw string) (everyKind, string, error) {
	t.Helper()
	var got everyKind
	said, err := readArguments("tool", json.RawMessage(raw), fieldsOf(reflect.TypeFor[everyKind]()), &got)
	return got, string(said.canonical()), err
}

func TestArgumentsAreReadLeniently(t *testing.T) {
	yes := true
	three := int64(3)
	for _, tc := range []struct {
		name, raw string
		want      everyKind
	}{
		{"as they should be", `{"name":"a","yes":true,"count":3,"words":["x","y"]}`,
			everyKind{Name: "a", Yes: true, Count: &three, Words: []string{"x", "y"}}},
		{"null is absent", `{"name":"a","mode":null,"yes":null,"maybe":null,"count":null,"words":null,"env":null,"options":null,"blocks":null}`,
			everyKind{Name: "a"}},
		{"null in a map is absent", `{"name":"a","env":{"A":null,"B":"b"}}`, everyKind{Name: "a", Env: map[string]string{"B": "b"}}},
		{"an empty word is absent", `{"name":"a","mode":""}`, everyKind{Name: "a"}},
		{"all arguments in a string", `"{\"name\":\"a\"}"`, everyKind{Name: "a"}},
		{"a boolean in a string", `{"name":"a","yes":"true","maybe":"true"}`, everyKind{Name: "a", Yes: true, Maybe: &yes}},
		{"a number in a string", `{"name":"a","count":"3"}`, everyKind{Name: "a", Count: &three}},
		{"a whole number with a point", `{"name":"a","count":3.0}`, everyKind{Name: "a", Count: &three}},
		{"a list in a string", `{"name":"a","words":"[\"x\",\"y\"]"}`, everyKind{Name: "a", Words: []string{"x", "y"}}},
		{"one string is a list of one", `{"name":"a","words":"x"}`, everyKind{Name: "a", Words: []string{"x"}}},
		{"a string that only looks like a list", `{"name":"a","words":"[x"}`, everyKind{Name: "a", Words: []string{"[x"}}},
		{"the string null", `{"name":"a","words":"null"}`, everyKind{Name: "a", Words: []string{"null"}}},
		{"the string 5", `{"name":"a","words":"5"}`, everyKind{Name: "a", Words: []string{"5"}}},
		{"a map in a string", `{"name":"a","env":"{\"A\":\"b\"}"}`, everyKind{Name: "a", Env: map[string]string{"A": "b"}}},
		{"a string stays a string", `{"name":"true"}`, everyKind{Name: "true"}},
		{"a number for a string", `{"name":12345678901234567890}`, everyKind{Name: "12345678901234567890"}},
		{"a boolean for a string", `{"name":true}`, everyKind{Name: "true"}},
		{"numbers and booleans in a list", `{"name":"a","words":["x",2,false]}`, everyKind{Name: "a", Words: []string{"x", "2", "false"}}},
		{"one number is a list of one", `{"name":"a","words":1.50}`, everyKind{Name: "a", Words: []string{"1.50"}}},
		{"numbers and booleans in a map", `{"name":"a","env":{"PORT":8080,"CI":true}}`,
			everyKind{Name: "a", Env: map[string]string{"PORT": "8080", "CI": "true"}}},
		{"a number for an answer", `{"name":"a","answers":{"q":1,"r":[2,true]}}`,
			everyKind{Name: "a", Answers: answerMap{"q": {"1"}, "r": {"2", "true"}}}},
		{"any values", `{"name":"a","options":{"b":[1,{"c":2}],"a":1.50}}`,
			everyKind{Name: "a", Options: anyObject{"a": json.RawMessage("1.50"), "b": json.RawMessage(`[1,{"c":2}]`)}}},
		{"objects in strings", `{"name":"a","servers":{"s":"{\"command\":\"x\"}"}}`,
			everyKind{Name: "a", Servers: objectMap{"s": json.RawMessage(`{"command":"x"}`)}}},
		{"an answer of one", `{"name":"a","answers":{"q":"x","r":["y","z"]}}`,
			everyKind{Name: "a", Answers: answerMap{"q": {"x"}, "r": {"y", "z"}}}},
		{"a schema keeps its order", `{"name":"a","schema":{"z":1,"a":2}}`, everyKind{Name: "a", Schema: rawObject(`{"z":1,"a":2}`)}},
		{"a schema in a string", `{"name":"a","schema":"{\"z\":1}"}`, everyKind{Name: "a", Schema: rawObject(`{"z":1}`)}},
		{"blocks of both spellings", `{"name":"a","blocks":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"image","data":"AA==","mime_type":"image/gif"}]}`,
			everyKind{Name: "a", Blocks: []contentBlock{{Type: "image", Data: "AA==", MIMEType: "image/png"}, {Type: "image", Data: "AA==", MIMEType: "image/gif"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := read(t, tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(everyKind{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWrongArgumentsAreRefusedByName(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"nothing", ``, "name is required"},
		{"no object", `[1]`, "the arguments must be one object, not a list"},
		{"a string that is no object", `"x"`, "the arguments must be one object, not a string"},
		{"an empty required string", `{"name":""}`, "name must not be empty"},
		{"unknown ones, all at once", `{"name":"a","nmae":1,"Mode":"x","zzz":2}`,
			"unknown argument Mode (did you mean mode?); unknown argument nmae (did you mean name?); unknown argument zzz"},
		{"unknown although null", `{"name":"a","zzz":null}`, "unknown argument zzz"},
		{"a list for a string", `{"name":["a"]}`, "name must be a string, not a list"},
		{"a number for a boolean", `{"name":"a","yes":1}`, "yes must be true or false, not a number"},
		{"a word for a boolean", `{"name":"a","yes":"yes"}`, "yes must be true or false, not a string"},
		{"a fraction", `{"name":"a","count":1.5}`, "count must be a whole number, not a number"},
		{"the string null for a number", `{"name":"a","count":"null"}`, "count must be a whole number, not a string"},
		{"too large a number", `{"name":"a","count":10}`, "count must be 1 to 9, not 10"},
		{"a number beyond 64 bits", `{"name":"a","count":9223372036854775808}`, "count is out of range: 9223372036854775808"},
		{"a number below 64 bits", `{"name":"a","count":"-1e300"}`, "count is out of range: -1e300"},
		{"a wait beyond the bound", `{"name":"a","wait_ms":600001}`, "wait_ms must be 0 to 600000, not 600001"},
		{"an unknown word", `{"name":"a","mode":"autoedit"}`, `mode must be one of default, auto_edit, not "autoedit" (did you mean auto_edit?)`},
		{"too long a string", `{"name":"abcdefghijklmnopqrstu"}`, "name has 21 bytes, at most 20 are allowed"},
		{"an object for a list", `{"name":"a","words":{}}`, "words must be a list, not an object"},
		{"a number for a string of an enum", `{"name":"a","mode":1}`, `mode must be one of default, auto_edit, not "1"`},
		{"an object in a list", `{"name":"a","words":["x",{}]}`, "words[1] must be a string, not an object"},
		{"null in a list", `{"name":"a","words":[null]}`, "words[0] must be a string, not null"},
		{"too long a list", `{"name":"a","words":["a","b","c","d"]}`, "words takes at most 3 items, not 4"},
		{"a list in a map of strings", `{"name":"a","env":{"PORT":[80]}}`, "env.PORT must be a string, not a list"},
		{"a string for a map", `{"name":"a","env":"A=b"}`, "env must be an object, not a string"},
		{"a string in a map of objects", `{"name":"a","servers":{"s":"x"}}`, "servers.s must be an object, not a string"},
		{"a list for a schema", `{"name":"a","schema":[]}`, "schema must be an object, not a list"},
		{"a string in a list of blocks", `{"name":"a","blocks":["x"]}`, "blocks[0] must be an object, not a string"},
		{"an unknown field of a block", `{"name":"a","blocks":[{"type":"text","txt":"x"}]}`, "unknown argument blocks[0].txt (did you mean text?)"},
		{"an unknown kind of block", `{"name":"a","blocks":[{"type":"audio"}]}`, `blocks[0].type must be one of text, image, not "audio"`},
		{"several things", `{"yes":1}`, "name is required; yes must be true or false, not a number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := read(t, tc.raw)
			e := core.AsError(err)
			if err == nil || e.Code != core.CodeInvalidArgument {
				t.Fatalf("got %v", err)
			}
			if e.Message != tc.want {
				t.Errorf("got  %s\nwant %s", e.Message, tc.want)
			}
			lost := strings.Contains(tc.want, "is required") || strings.Contains(tc.want, "must be one object") || strings.HasSuffix(tc.want, "zzz")
			if strings.HasPrefix(e.Hint, "tool takes: name (required), mode,") != lost || !lost && e.Hint != "" {
				t.Errorf("the hint is %q", e.Hint)
			}
		})
	}
}

func TestTheSameArgumentsHaveOneCanonicalForm(t *testing.T) {
	_, want, err := read(t, `{"name":"a","count":3,"words":["x"],"env":{"A":"1","B":"2"},"schema":{"a":1,"b":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		`{"words":"x","name":"a","count":"3","env":{"B":"2","A":"1"},"schema":{"b":2,"a":1}}`,
		`{"name":"a","count":3.0,"words":["x"],"env":"{\"A\":\"1\",\"B\":\"2\"}","schema":{"a":1,"b":2},"wait_ms":5,"idempotency_key":"k","mode":null}`,
	} {
		if _, got, err := read(t, raw); err != nil || got != want {
			t.Errorf("got %s (%v)\nwant %s", got, err, want)
		}
	}
	if _, got, _ := read(t, `{"name":"a","count":4}`); got == want {
		t.Error("other arguments have the same form")
	}
}

func FuzzReadArguments(f *testing.F) {
	f.Add(`{"name":"a","words":"[\"x\"]","env":{"A":null},"blocks":[{"type":"text"}]}`)
	f.Add(`"{\"name\":\"a\"}"`)
	fields := fieldsOf(reflect.TypeFor[everyKind]())
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		var got everyKind
		said, err := readArguments("tool", json.RawMessage(raw), fields, &got)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalidArgument {
				t.Fatalf("a refusal without its code: %v", err)
			}
			return
		}
		// What was read, read again, is the same.
		var again everyKind
		canon := said.canonical()
		said, err = readArguments("tool", canon, fields, &again)
		if err != nil || string(said.canonical()) != string(canon) {
			t.Errorf("%s becomes %s (%v)", canon, said.canonical(), err)
		}
	})
}

// TestEveryTimeOfEveryToolHasABound reads the numbers at the edges of every
// argument in milliseconds. None may become a duration that has overflowed.
func TestEveryTimeOfEveryToolHasABound(t *testing.T) {
	seen := 0
	for tool, arguments := range map[string]reflect.Type{
		"delegate": reflect.TypeFor[delegateArgs](), "start_session": reflect.TypeFor[startSessionArgs](),
		"send_message": reflect.TypeFor[sendMessageArgs](), "follow_up": reflect.TypeFor[followUpArgs](),
		"steer": reflect.TypeFor[steerArgs](), "await": reflect.TypeFor[awaitArgs](), "respond": reflect.TypeFor[respondArgs](),
		"interrupt": reflect.TypeFor[interruptArgs](), "configure": reflect.TypeFor[configureArgs](), "prune": reflect.TypeFor[pruneArgs](),
		"start_process": reflect.TypeFor[startProcessArgs](), "send_input": reflect.TypeFor[sendInputArgs](),
		"list_providers": reflect.TypeFor[listProvidersArgs](), "list": reflect.TypeFor[listArgs](), "replay": reflect.TypeFor[replayArgs](),
		"inspect": reflect.TypeFor[inspectArgs](), "close": reflect.TypeFor[closeArgs](), "codex": reflect.TypeFor[codexArgs](),
		"codex-reply": reflect.TypeFor[codexReplyArgs](),
	} {
		for _, f := range fieldsOf(arguments) {
			if !strings.HasSuffix(f.name, "_ms") {
				continue
			}
			seen++
			for _, n := range []string{
				"-1", fmt.Sprint(*f.max + 1), "9223372036854", "9223372036855", "18446744073709", "18446744073710",
				"9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e18", "1e300", "1e400", `"9223372036854775807"`,
			} {
				v := reflect.New(arguments)
				_, err := readArguments(tool, json.RawMessage(fmt.Sprintf(`{%q:%s}`, f.name, n)), []field{f}, v.Interface())
				if core.CodeOf(err) != core.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), f.name) {
					t.Errorf("%s %s=%s: %v", tool, f.name, n, err)
				}
			}
			v := reflect.New(arguments)
			if _, err := readArguments(tool, json.RawMessage(fmt.Sprintf(`{%q:%d}`, f.name, *f.max)), []field{f}, v.Interface()); err != nil {
				t.Errorf("%s %s=%d: %v", tool, f.name, *f.max, err)
			}
			if p, _ := v.Elem().FieldByIndex(f.index).Interface().(*int64); p == nil || milliseconds(p).Milliseconds() != *f.max {
				t.Errorf("%s %s=%d overflows", tool, f.name, *f.max)
			}
		}
	}
	if seen < 16 {
		t.Errorf("only %d arguments", seen)
	}
}
