package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// Bounds of looking for a pattern.
const (
	// maxPattern is the longest pattern, in bytes.
	maxPattern = 1 << 10
	// maxPatternSteps is the largest pattern as it is compiled, in
	// instructions. Each byte of a line may cost as many steps, and a counted
	// repetition makes many of few bytes.
	maxPatternSteps = 2 << 10
	// maxMatchLine is how much of a line is looked at in one piece; of a longer
	// one the last half goes on.
	maxMatchLine = 64 << 10
	// eagerLine is how long an unfinished line may be that is looked at
	// whenever it has grown. A longer one is looked at when it ends, and when
	// there is no more output for now.
	eagerLine = 4 << 10
	// plainMatch is how much is looked at between two checks of the context, in
	// bytes times instructions.
	plainMatch = 1 << 20
	// matchPage is how much output is read at a time, in bytes.
	matchPage = 1 << 20
	// matchSlice is how long a search goes on before another may run.
	matchSlice = 50 * time.Millisecond
	// matchRest is how many times as long as it took to look at a long
	// unfinished line it waits until the next time.
	matchRest = 4
	// closedMatch is how long output is searched after its process was closed.
	closedMatch = time.Second
	// atOnce is a wait of no time, where 0 means no wait at all.
	atOnce = time.Nanosecond
	// maxMatchedLine bounds the line in the result, in bytes.
	maxMatchedLine = 1 << 10
)

// matcher looks for a pattern in the output of one process, line by line, the
// unfinished last line included. Escape sequences are left out, and it does not
// matter where the output was cut into events. A carriage return ends a line, as
// what follows it overwrites the line. It works in slices of time: lines that it
// has read and not looked at wait in it. One goroutine uses it.
type matcher struct {
	pattern *regexp.Regexp
	steps   int    // of the compiled pattern, in instructions
	after   uint64 // how far the journal was cut into lines
	streams map[core.EventType]*lineReader
	found   *core.OutputMatch

	events []core.Event // read and not cut into lines
	lines  []line       // cut and not looked at
	rests  time.Time    // no long unfinished line is looked at before
	closed time.Time    // when the process was first seen closed
}

// line is a line, or the part of one that there is.
type line struct {
	stream core.EventType
	seq    uint64 // the event that it ends in
	text   []byte
	long   bool // unfinished, and longer than eagerLine
}

// lineReader cuts one stream into lines.
type lineReader struct {
	escapes redact.EscapeStripper
	line    []byte // the unfinished line
	looked  int    // how long it was when it was taken for a look
	seq     uint64 // the event that it ends in
	cr      bool   // the text ended with a carriage return
}

// CheckPattern refuses a pattern that await could not look for.
//
// Errors: CodeInvalidArgument.
func CheckPattern(pattern string) error {
	_, err := newMatcher(pattern, 0)
	return err
}

// newMatcher returns the matcher of a process's output after a cursor.
//
// Errors: CodeInvalidArgument for a pattern that is none, or too large.
func newMatcher(pattern string, after uint64) (*matcher, error) {
	if len(pattern) > maxPattern {
		return nil, core.Errorf(core.CodeInvalidArgument, "pattern has %d bytes; at most %d are taken", len(pattern), maxPattern).WithDetail("field", "pattern")
	}
	steps, err := patternSteps(pattern)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "pattern cannot be used: %w", err).
			WithHint("Patterns are RE2 regular expressions, matched against single lines.").WithDetail("field", "pattern")
	}
	if steps > maxPatternSteps {
		return nil, core.Errorf(core.CodeInvalidArgument, "pattern has %d steps when its repetitions are written out; at most %d are taken", steps, maxPatternSteps).
			WithHint("Look for less, with smaller counts in {}.").WithDetail("field", "pattern")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "pattern cannot be used: %w", err).WithDetail("field", "pattern")
	}
	return &matcher{pattern: re, steps: steps, after: after, streams: map[core.EventType]*lineReader{core.TypeStdout: {}, core.TypeStderr: {}}}, nil
}

// patternSteps returns how many instructions a pattern compiles to.
func patternSteps(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

// outputReader reads events of a process's output after a cursor.
type outputReader func(ctx context.Context, after uint64) ([]core.Event, error)

// read looks through what the journal has beyond what was read before, up to
// seq until, for about matchSlice. It returns when to go on: 0 when all of it was
// looked at. It ends at the deadline, in the middle of a line too, and goes on
// with that line the next time; but one slice it has in any case.
func (m *matcher) read(ctx context.Context, events outputReader, until uint64, deadline time.Time) (again time.Duration, err error) {
	slice := time.Now().Add(matchSlice)
	if deadline.Before(slice) {
		deadline = slice
	}
	scan, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for m.found == nil {
		switch {
		case len(m.lines) > 0:
			if scan.Err() != nil || !time.Now().Before(slice) || !m.look(scan, m.lines[0]) {
				return atOnce, nil
			}
			m.lines = m.lines[1:]
		case len(m.events) > 0:
			m.split(m.events[0])
			m.events = m.events[1:]
		case m.after < until:
			if m.events, err = events(ctx, m.after); err != nil {
				return 0, core.StoreError(err)
			}
			if len(m.events) == 0 {
				m.after = until
			}
		default:
			if wait := time.Until(m.rests); wait > 0 && m.unseen() {
				return wait, nil
			}
			for _, t := range []core.EventType{core.TypeStdout, core.TypeStderr} {
				m.take(t, m.streams[t], true)
			}
			if len(m.lines) == 0 {
				return 0, nil
			}
		}
	}
	m.events, m.lines = nil, nil
	return 0, nil
}

// searched reports whether there is nothing to look at up to seq until.
func (m *matcher) searched(until uint64) bool {
	return m.after >= until && len(m.events)+len(m.lines) == 0 && !m.unseen()
}

// unseen reports whether an unfinished line has grown since it was looked at.
func (m *matcher) unseen() bool {
	return len(m.streams[core.TypeStdout].line) != m.streams[core.TypeStdout].looked || len(m.streams[core.TypeStderr].line) != m.streams[core.TypeStderr].looked
}

// split cuts an event into lines. What is unfinished at its end is taken too, as
// it may be a prompt, but not when it is long: that waits until there is no more
// output for now.
func (m *matcher) split(e core.Event) {
	m.after = max(m.after, e.Seq)
	s := m.streams[e.Type]
	if s == nil {
		return
	}
	s.seq = e.Seq
	for text := s.escapes.Strip(outputOf(e)); len(text) > 0; {
		if s.cr {
			s.cr = false
			if text[0] == '\n' { // one line end in two bytes
				text = text[1:]
				continue
			}
		}
		n := min(len(text), maxMatchLine/2)
		end := bytes.IndexAny(text[:n], "\r\n")
		if end >= 0 {
			n = end
		}
		s.line = append(s.line, text[:n]...)
		switch {
		case end >= 0:
			m.lines = append(m.lines, line{stream: e.Type, seq: e.Seq, text: s.line})
			s.line, s.looked, s.cr = nil, 0, text[end] == '\r'
			n++
		case len(s.line) > maxMatchLine:
			m.lines = append(m.lines, line{stream: e.Type, seq: e.Seq, text: s.line})
			s.line = bytes.Clone(s.line[len(s.line)-maxMatchLine/2:])
			s.looked = len(s.line)
		}
		text = text[n:]
	}
	m.take(e.Type, s, false)
}

// take puts an unfinished line that has grown among those to look at.
func (m *matcher) take(t core.EventType, s *lineReader, atRest bool) {
	long := len(s.line) > eagerLine
	if len(s.line) == s.looked || long && !atRest {
		return
	}
	s.looked = len(s.line)
	m.lines = append(m.lines, line{stream: t, seq: s.seq, text: bytes.Clone(s.line), long: long})
}

// look looks for the pattern in a line. It is not ok when ctx ended before it
// knew.
func (m *matcher) look(ctx context.Context, l line) (ok bool) {
	began, matched := time.Now(), false
	if len(l.text)*m.steps <= plainMatch {
		matched = m.pattern.Match(l.text)
	} else {
		r := &lineRunes{ctx: ctx, line: l.text, every: max(1, plainMatch/m.steps)}
		if matched = m.pattern.MatchReader(r); r.over {
			return false
		}
	}
	if l.long {
		m.rests = time.Now().Add(matchRest * time.Since(began))
	}
	if matched {
		m.found = &core.OutputMatch{Seq: l.seq, Stream: l.stream, Line: core.Truncate(string(bytes.ToValidUTF8(l.text, []byte("\uFFFD"))), maxMatchedLine)}
	}
	return true
}

// lineRunes reads a line for a search that takes long. When ctx ends it ends the
// line and sets over.
type lineRunes struct {
	ctx   context.Context
	line  []byte
	every int // runes between two looks at ctx
	n     int
	over  bool
}

// ReadRune implements io.RuneReader.
func (r *lineRunes) ReadRune() (rune, int, error) {
	if r.n++; r.n%r.every == 0 && r.ctx.Err() != nil {
		r.over = true
	}
	if r.over || len(r.line) == 0 {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRune(r.line)
	r.line = r.line[n:]
	return c, n, nil
}

// giveUp reports whether the output of a closed process was searched for
// closedMatch: whoever closed it does not wait for its output.
func (m *matcher) giveUp(p *core.ProcessSnapshot) bool {
	if p.Status != core.ProcessDoneCancelled {
		return false
	}
	if m.closed.IsZero() {
		m.closed = time.Now()
	}
	return time.Since(m.closed) > closedMatch
}

// outputOf returns the output in an event, nil for an event of another type.
func outputOf(e core.Event) []byte {
	var o core.OutputData
	if e.Type != core.TypeStdout && e.Type != core.TypeStderr || json.Unmarshal(e.Data, &o) != nil {
		return nil
	}
	return o.Bytes()
}
