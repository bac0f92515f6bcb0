package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
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
	// whenever it has grown. A longer one is looked at when it has grown by
	// half, when it ends, and when there is no more of it for now.
	eagerLine = 4 << 10
	// plainMatch is how much may be looked at without looking up, in bytes
	// times instructions.
	plainMatch = 1 << 20
	// matchPage is how much output is read at a time, in bytes.
	matchPage = 1 << 20
	// matchSlice is how long a search goes on before it looks up.
	matchSlice = 50 * time.Millisecond
	// matchRest is how many times as long as it took to look at a long
	// unfinished line it rests until the next time.
	matchRest = 4
	// closedMatch is how long output is searched when its process was closed.
	closedMatch = time.Second
	// atOnce is a wait that is none.
	atOnce = time.Nanosecond
	// maxMatchedLine bounds the line that is told, in bytes.
	maxMatchedLine = 1 << 10
)

// matcher looks for a pattern in the output of one process, line by line, the
// unfinished last line included. Escape sequences are not seen, nor where the
// output was cut into events. A carriage return ends a line, as what follows
// it overwrites the line. It works in slices: what it has read and not looked
// at waits in it.
type matcher struct {
	pattern *regexp.Regexp
	steps   int    // of the compiled pattern, in instructions
	after   uint64 // how far the journal was read
	streams map[core.EventType]*lineReader
	found   *core.OutputMatch

	events []core.Event // read and not looked at
	text   []byte       // what is left of the first of them, without escapes
	begun  bool         // text is of the first of them
	rests  time.Time    // no long unfinished line is looked at before
	closed time.Time    // when the process was first seen closed
}

// lineReader is one stream of a matcher.
type lineReader struct {
	escapes core.Escapes
	line    []byte
	cr      bool   // the line ended with a carriage return
	tried   int    // how long the line was when it was looked at
	seq     uint64 // the event that the line ends in
}

// CheckPattern refuses a pattern that await could not look for.
//
// Errors: CodeInvalidArgument.
func CheckPattern(pattern string) error {
	_, err := newMatcher(pattern, 0)
	return err
}

// newMatcher makes the matcher of a process from a cursor on.
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

// patternSteps is how many instructions a pattern compiles to.
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

// outputReader reads events of a process's output behind a cursor.
type outputReader func(ctx context.Context, after uint64) ([]core.Event, error)

// read looks through what the journal has beyond what was read before, up to
// seq until, for about matchSlice. It says when to go on: 0 when all of it was
// looked at. Behind deadline it ends, in the middle of a line too, and goes on
// from there the next time; but a slice it has in any case.
func (m *matcher) read(ctx context.Context, events outputReader, until uint64, deadline time.Time) (again time.Duration, err error) {
	slice := time.Now().Add(matchSlice)
	if deadline.Before(slice) {
		deadline = slice
	}
	scan, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for m.found == nil {
		if len(m.events) == 0 {
			if m.after >= until {
				return m.lookAtRest(scan), nil
			}
			if m.events, err = events(ctx, m.after); err != nil {
				return 0, core.StoreError(err)
			}
			if len(m.events) == 0 {
				m.after = until
			}
			continue
		}
		if scan.Err() != nil || !time.Now().Before(slice) || !m.step(scan) {
			return atOnce, nil
		}
	}
	m.events, m.text = nil, nil
	return 0, nil
}

// searched says whether there is nothing to look at up to seq until.
func (m *matcher) searched(until uint64) bool {
	return m.after >= until && len(m.events) == 0 && !slices.ContainsFunc(
		[]*lineReader{m.streams[core.TypeStdout], m.streams[core.TypeStderr]}, func(s *lineReader) bool { return len(s.line) != s.tried })
}

// step takes the next line, or piece of a line, of what was read. It gives
// false when ctx ended before it was looked at.
func (m *matcher) step(ctx context.Context) bool {
	e := m.events[0]
	s := m.streams[e.Type]
	if s != nil && !m.begun {
		m.text, m.begun = s.escapes.Strip(outputOf(e)), true
	}
	if s != nil && len(m.text) > 0 {
		n, ok := m.piece(ctx, e.Seq, s, m.text)
		if m.text = m.text[n:]; !ok {
			return false
		}
	}
	if len(m.text) == 0 {
		m.after, m.events, m.begun = max(m.after, e.Seq), m.events[1:], false
	}
	return true
}

// piece adds the next piece of text to its line. It returns how much it took.
// With false it took nothing, as ctx ended.
func (m *matcher) piece(ctx context.Context, seq uint64, s *lineReader, text []byte) (n int, ok bool) {
	i := bytes.IndexAny(text[:min(len(text), maxMatchLine/2)], "\r\n")
	part := text[:min(len(text), maxMatchLine/2)]
	if i >= 0 {
		part = text[:i]
	}
	was, cr, tried := s.line, s.cr, s.tried
	if s.cr && (len(part) > 0 || i == 0 && text[0] == '\r') { // it was no "\r\n"
		s.line, s.cr, s.tried = s.line[:0:0], false, 0
	}
	s.line, s.seq = append(s.line, part...), seq
	full := len(s.line) > maxMatchLine
	if i >= 0 && !s.cr || full || i < 0 && s.due() {
		if !m.try(ctx, s) {
			s.line, s.cr, s.tried = was, cr, tried
			return 0, false
		}
	}
	switch {
	case i < 0:
		if full {
			s.line = append(s.line[:0], s.line[len(s.line)-maxMatchLine/2:]...)
			s.tried = len(s.line)
		}
		return len(part), true
	case text[i] == '\n':
		s.line, s.cr, s.tried = s.line[:0], false, 0
	default:
		s.cr, s.tried = true, len(s.line)
	}
	return i + 1, true
}

// due says whether an unfinished line has grown enough to look at it again.
func (s *lineReader) due() bool {
	return len(s.line) <= eagerLine || len(s.line) >= s.tried+s.tried/2+eagerLine
}

// lookAtRest looks at unfinished lines that have grown since they were looked
// at, and says when to do so: a large one not all the time, as long as more
// comes.
func (m *matcher) lookAtRest(ctx context.Context) (again time.Duration) {
	for _, t := range []core.EventType{core.TypeStdout, core.TypeStderr} {
		s := m.streams[t]
		if m.found != nil || len(s.line) == s.tried {
			continue
		}
		began := time.Now()
		if d := m.rests.Sub(began); d > 0 {
			return d
		}
		if !m.try(ctx, s) {
			return atOnce
		}
		m.rests = time.Now().Add(matchRest * time.Since(began))
	}
	return 0
}

// try looks at the line as it is. It gives false when ctx ended before it knew.
func (m *matcher) try(ctx context.Context, s *lineReader) bool {
	matched := false
	if len(s.line)*m.steps <= plainMatch {
		matched = m.pattern.Match(s.line)
	} else {
		r := &lineRunes{ctx: ctx, line: s.line, every: max(1, plainMatch/m.steps)}
		if matched = m.pattern.MatchReader(r); r.over {
			return false
		}
	}
	s.tried = len(s.line)
	if matched {
		m.found = &core.OutputMatch{Seq: s.seq, Stream: m.streamOf(s), Line: core.Truncate(string(bytes.ToValidUTF8(s.line, []byte("\uFFFD"))), maxMatchedLine)}
	}
	return true
}

func (m *matcher) streamOf(s *lineReader) core.EventType {
	if s == m.streams[core.TypeStderr] {
		return core.TypeStderr
	}
	return core.TypeStdout
}

// lineRunes reads a line for a search that takes long. When ctx ends so does
// the line, and over says so.
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

// giveUp says whether the output of a closed process was searched for long
// enough. Whoever closed it does not wait for what it said.
func (m *matcher) giveUp(p *core.ProcessSnapshot) bool {
	if p.Status != core.ProcessDoneCancelled {
		return false
	}
	if m.closed.IsZero() {
		m.closed = time.Now()
	}
	return time.Since(m.closed) > closedMatch
}

// outputOf gives the output that an event holds, nil for an event of another
// kind.
func outputOf(e core.Event) []byte {
	var o core.OutputData
	if e.Type != core.TypeStdout && e.Type != core.TypeStderr || json.Unmarshal(e.Data, &o) != nil {
		return nil
	}
	return o.Bytes()
}
