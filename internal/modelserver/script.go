package modelserver

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// directive is one line of a script.
type directive struct {
	word string
	arg  string
	once bool
}

// takesArg lists the words of the script; true says that the word means
// nothing without an argument.
var takesArg = map[string]bool{
	"say": true, "think": true, "stream": true, "slow": true, "run": true, "escalate": true,
	"patch": false, "ask": true, "fill": true, "call": true, "calls": true, "remember": false, "outputs": false,
	"fail": true, "cut": false, "silent": false,
}

// isTool reports whether the directive ends a response with a tool call.
func (d directive) isTool() bool {
	switch d.word {
	case "run", "escalate", "patch", "ask", "call", "calls":
		return true
	}
	return false
}

// number reads the argument as a count from 0 to limit.
func (d directive) number(limit int) int {
	n, err := strconv.Atoi(d.arg)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, limit)
}

// pause reads the argument as milliseconds.
func (d directive) pause() time.Duration {
	return time.Duration(d.number(int(maxPause/time.Millisecond))) * time.Millisecond
}

// status is the HTTP status of a fail directive, 0 when it names a code.
func (d directive) status() int {
	n, err := strconv.Atoi(d.arg)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

// parseScript reads the directives of a prompt and leaves other lines out.
func parseScript(prompt string) []directive {
	var script []directive
	for line := range strings.Lines(prompt) {
		if len(script) == maxDirectives {
			break
		}
		if d, ok := parseLine(strings.TrimSpace(line)); ok {
			script = append(script, d)
		}
	}
	return script
}

func parseLine(line string) (directive, bool) {
	word, arg, _ := strings.Cut(line, " ")
	if word == "once" {
		d, ok := parseLine(strings.TrimSpace(arg))
		d.once = true
		return d, ok
	}
	needs, known := takesArg[word]
	arg = strings.TrimSpace(arg)
	if !known || needs && arg == "" || !needs && arg != "" && word != "patch" {
		return directive{}, false
	}
	return directive{word: word, arg: arg}, true
}

// segment returns the directives that one response plays: those after the nth
// tool directive, or after the last one if there are fewer, up to and with the
// next one.
func segment(script []directive, n int) []directive {
	for ; n > 0; n-- {
		i := slices.IndexFunc(script, directive.isTool)
		if i < 0 {
			return script
		}
		script = script[i+1:]
	}
	if i := slices.IndexFunc(script, directive.isTool); i >= 0 {
		return script[:i+1]
	}
	return script
}
