package demo

import (
	"strconv"
	"strings"
	"time"
)

// verb is the first word of a directive.
type verb string

const (
	verbSay     verb = "say"
	verbStream  verb = "stream"
	verbThink   verb = "think"
	verbRun     verb = "run"
	verbPatch   verb = "patch"
	verbApprove verb = "approve"
	verbAsk     verb = "ask"
	verbSlow    verb = "slow"
	verbRecall  verb = "recall"
	verbFail    verb = "fail"
)

// directive is one line of a script. Text belongs to say and think, N to
// stream, Wait to slow.
type directive struct {
	Verb verb
	Text string
	N    int
	Wait time.Duration
}

// parse reads a prompt as a script. It returns false when any line is something
// else, such as a sentence that merely begins with "run", or when nothing is
// there at all.
func parse(prompt string) ([]directive, bool) {
	var script []directive
	for line := range strings.Lines(prompt) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		if strings.TrimSpace(line) == "" {
			continue
		}
		d, ok := parseLine(line)
		if !ok {
			return nil, false
		}
		script = append(script, d)
	}
	return script, len(script) > 0
}

func parseLine(line string) (directive, bool) {
	word, rest, _ := strings.Cut(line, " ")
	word = strings.TrimRight(word, "\t")
	d := directive{Verb: verb(word)}
	switch d.Verb {
	case verbSay, verbThink:
		d.Text = rest
		return d, strings.TrimSpace(rest) != ""
	case verbStream:
		n, ok := parseCount(rest, maxPieces)
		d.N = n
		return d, ok && n > 0
	case verbSlow:
		n, ok := parseCount(rest, int(maxSlow/time.Millisecond))
		d.Wait = time.Duration(n) * time.Millisecond
		return d, ok
	case verbRun, verbPatch, verbApprove, verbAsk, verbRecall, verbFail:
		return d, strings.TrimSpace(rest) == ""
	}
	return directive{}, false
}

func parseCount(s string, most int) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n >= 0 && n <= most
}

// pieces cuts text into about textPieces deltas after spaces, so that no
// character is split. They join to the text.
func pieces(text string) []string {
	least := len(text) / textPieces
	var out []string
	start := 0
	for i := range len(text) {
		if text[i] == ' ' && i+1-start > least {
			out = append(out, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
