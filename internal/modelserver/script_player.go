package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// conversation is a decoded request, in the same form for every API.
type conversation struct {
	id      string   // what the agent calls the conversation, if anything
	prompts []string // what the user said, oldest first; the last one is the script
	outputs []string // tool results since the last prompt
	rounds  int      // in how many answers, where one may use several tools
}

// answered returns how many tool directives were played since the last prompt.
func (c conversation) answered() int {
	if c.rounds > 0 {
		return c.rounds
	}
	return len(c.outputs)
}

func (c conversation) prompt() string {
	if len(c.prompts) == 0 {
		return ""
	}
	return c.prompts[len(c.prompts)-1]
}

// responseWriter writes a response in the format of one API. Its errors are those of
// the connection and end the response.
type responseWriter interface {
	think(text string, wait func() error) error
	// say writes one message in the given pieces and calls wait before each.
	say(pieces []string, wait func() error) error
	// tool calls the tool that the directive stands for.
	tool(d directive) error
	// failed ends the stream with an error of the API's own.
	failed(code string) error
	// end completes the response.
	end() error
	// cut ends the stream as if the line had broken, after half a message.
	cut() error
}

// errSilence ends a play that was to say nothing until its caller hung up.
var errSilence = errors.New("the caller hung up")

// play performs one response.
func play(ctx context.Context, c conversation, script []directive, out responseWriter) error {
	var pause time.Duration
	wait := func() error { return sleep(ctx, pause) }
	spoke := false
	for _, d := range script {
		var err error
		switch d.word {
		case "slow":
			pause = d.pause()
		case "think":
			err = out.think(d.arg, wait)
		case "cut":
			return out.cut()
		case "silent":
			<-ctx.Done()
			return errSilence
		case "fail":
			return out.failed(d.arg)
		case "run", "escalate", "patch", "ask", "call", "calls":
			err = out.tool(d)
			spoke = true
		default:
			err = out.say(pieces(d, c), wait)
			spoke = true
		}
		if err != nil {
			return err
		}
	}
	if !spoke {
		if err := out.say(split(silentAnswer(c)), wait); err != nil {
			return err
		}
	}
	return out.end()
}

// silentAnswer returns the text of a response whose script has no message.
func silentAnswer(c conversation) string {
	if len(c.outputs) > 0 {
		return "done"
	}
	text := []rune(strings.Join(strings.Fields(c.prompt()), " "))
	return "ok: " + string(text[:min(len(text), 60)])
}

// pieces returns the deltas of a message.
func pieces(d directive, c conversation) []string {
	switch d.word {
	case "stream":
		n := d.number(maxDeltas)
		list := make([]string, n)
		for i := range list {
			list[i] = strconv.Itoa(i+1) + " "
		}
		return list
	case "fill":
		return fill(d.number(maxFill))
	case "remember":
		earlier, _ := json.Marshal(c.prompts[:max(0, len(c.prompts)-1)])
		return split("I remember: " + string(earlier))
	case "outputs":
		outputs, _ := json.Marshal(c.outputs)
		return split("outputs: " + string(outputs))
	}
	return split(d.arg)
}

// fill returns numbered lines of 64 bytes, a thousand in a delta; the last line
// ends where n ends.
func fill(n int) []string {
	const line, together = 64, 1000
	var list []string
	var b strings.Builder
	for i := 1; n > 0; i++ {
		text := fmt.Sprintf("%0*d\n", line-1, i)
		b.WriteString(text[:min(n, line)])
		if n -= line; n <= 0 || i%together == 0 {
			list = append(list, b.String())
			b.Reset()
		}
	}
	return list
}

// split cuts a text into three deltas or fewer, on character borders.
func split(text string) []string {
	runes := []rune(text)
	step := max(1, (len(runes)+2)/3)
	var list []string
	for len(runes) > 0 {
		n := min(step, len(runes))
		list = append(list, string(runes[:n]))
		runes = runes[n:]
	}
	return list
}

// patchFile returns the file and its one line of a patch directive.
func (d directive) patchFile() (file, line string) {
	file, line, _ = strings.Cut(d.arg, " ")
	if file == "" {
		file = "hello.txt"
	}
	if line == "" {
		line = "hello"
	}
	return file, line
}

// question returns the parts of an ask directive; there are always two choices.
func (d directive) question() (text string, choices []string) {
	parts := strings.Split(d.arg, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if len(parts) < 3 {
		return parts[0], []string{"yes", "no"}
	}
	return parts[0], parts[1:]
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("between two deltas: %w", ctx.Err())
	case <-t.C:
		return nil
	}
}
