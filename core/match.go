package core

import (
	"bytes"
	"context"
	"regexp"
)

// Bounds of looking for a pattern.
const (
	// maxPattern is the longest pattern, in bytes.
	maxPattern = 1 << 10
	// maxMatchLine is how much of a line is looked at in one piece; of a longer
	// one the last half goes on.
	maxMatchLine = 64 << 10
	// matchPage is how much output is read at a time, in bytes.
	matchPage = 1 << 20
	// maxMatchedLine bounds the line that is told, in bytes.
	maxMatchedLine = 1 << 10
)

// matcher looks for a pattern in the output of one process, line by line, the
// unfinished last line included. Escape sequences are not seen, nor where the
// output was cut into events. A carriage return ends a line, as what follows
// it overwrites the line.
type matcher struct {
	pattern *regexp.Regexp
	after   uint64 // how far the journal was read
	streams map[EventType]*lineReader
	found   *OutputMatch
}

// lineReader is one stream of a matcher.
type lineReader struct {
	escapes Escapes
	line    []byte
	cr      bool // the line ended with a carriage return
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
// Errors: CodeInvalidArgument for a pattern that is none.
func newMatcher(pattern string, after uint64) (*matcher, error) {
	bad := func(err error) error {
		return Errorf(CodeInvalidArgument, "pattern cannot be used: %w", err).
			WithHint("Patterns are RE2 regular expressions, matched against single lines.").WithDetail("field", "pattern")
	}
	if len(pattern) > maxPattern {
		return nil, Errorf(CodeInvalidArgument, "pattern has %d bytes; at most %d are taken", len(pattern), maxPattern).WithDetail("field", "pattern")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, bad(err)
	}
	return &matcher{pattern: re, after: after, streams: map[EventType]*lineReader{TypeStdout: {}, TypeStderr: {}}}, nil
}

// read looks through what the journal has beyond what was read before. It
// reads at least up to seq until, unless it finds the pattern first.
func (m *matcher) read(ctx context.Context, h *Harness, owner, id string, until uint64) error {
	for m.found == nil && m.after < until {
		events, err := h.events(ctx, EventQuery{Owner: owner, Resource: id, After: m.after, Limit: maxReplayPage, MaxBytes: matchPage,
			Types: []EventType{TypeStdout, TypeStderr}})
		if err != nil {
			return storeError(err)
		}
		if len(events) == 0 {
			m.after = until
			return nil
		}
		for _, e := range events {
			m.after = max(m.after, e.Seq)
			if m.feed(e); m.found != nil {
				return nil
			}
		}
	}
	return nil
}

// feed takes the next event of output.
func (m *matcher) feed(e Event) {
	s := m.streams[e.Type]
	if s == nil {
		return
	}
	text := s.escapes.Strip(outputOf(e))
	for len(text) > 0 && m.found == nil {
		i := bytes.IndexAny(text, "\r\n")
		part := text
		if i >= 0 {
			part = text[:i]
		}
		if s.cr && (len(part) > 0 || i == 0 && text[0] == '\r') { // it was no "\r\n"
			s.line, s.cr = s.line[:0], false
		}
		s.line = append(s.line, part...)
		if len(part) > 0 || i >= 0 && !s.cr {
			m.try(e, s)
		}
		switch {
		case i < 0:
			text = nil
		case text[i] == '\n':
			s.line, s.cr, text = s.line[:0], false, text[i+1:]
		default:
			s.cr, text = true, text[i+1:]
		}
		if len(s.line) > maxMatchLine {
			s.line = append(s.line[:0], s.line[len(s.line)-maxMatchLine/2:]...)
		}
	}
}

func (m *matcher) try(e Event, s *lineReader) {
	if m.pattern.Match(s.line) {
		m.found = &OutputMatch{Seq: e.Seq, Stream: e.Type, Line: cut(string(bytes.ToValidUTF8(s.line, []byte("\uFFFD"))), maxMatchedLine)}
	}
}
