package tools

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// longText is a text that may be truncated in the middle.
type longText struct {
	text string
	// more returns what to call for the part that begins at offset.
	more func(offset int) string
}

// truncate returns the text in at most about max bytes: whole if it is not
// longer, else its beginning and its end with a mark of what is missing. It
// does not split characters. offset is where the missing part begins, 0 if none
// is missing.
func (l longText) truncate(max int) (text string, offset int) {
	if len(l.text) <= max {
		return l.text, 0
	}
	// Three quarters for the beginning, which has the subject; the end mostly
	// has the result.
	offset = runeFloor(l.text, max*3/4)
	end := runeCeil(l.text, len(l.text)-(max-offset))
	return fmt.Sprintf("%s\n[... %d bytes: %s ...]\n%s", l.text[:offset], end-offset, l.more(offset), l.text[end:]), offset
}

// slot is a place in a reply whose content shrinks with the budget.
type slot interface {
	// apply makes the content take at most about max bytes.
	apply(max int)
}

// textSlot is a string that may be truncated. *offset, if offset is not nil, is
// set to where the missing part begins, 0 if none is missing.
type textSlot struct {
	dst    *string
	src    longText
	offset *int
}

func (s textSlot) apply(max int) {
	text, offset := s.src.truncate(max)
	*s.dst = text
	if s.offset != nil {
		*s.offset = offset
	}
}

// rawSlot is a JSON value that is shown whole or replaced by a note.
type rawSlot struct {
	dst  *json.RawMessage
	src  json.RawMessage
	more string // what to call for it
}

func (s rawSlot) apply(max int) {
	*s.dst = s.src
	if len(s.src) > max {
		*s.dst = encode(fmt.Sprintf("[%d bytes: %s]", len(s.src), s.more))
	}
}

// fit renders an object in at most max bytes. It gives all slots the same
// level, the largest at which the object fits, found by bisection to fitStep
// bytes: short slots stay whole, long ones are truncated alike. If the object
// does not fit even with empty slots, the result is larger than max.
func fit[T string | []byte](slots []slot, max int, render func() T) T {
	try := func(level int) T {
		for _, s := range slots {
			s.apply(level)
		}
		return render()
	}
	out := try(max)
	if len(out) <= max || len(slots) == 0 {
		return out
	}
	low, high := 0, max // low fits, or nothing does
	for high-low > fitStep {
		mid := (low + high) / 2
		if len(try(mid)) <= max {
			low = mid
		} else {
			high = mid
		}
	}
	return try(low)
}

// clip returns s in at most max bytes, with three dots at its end if it was
// truncated. It does not split characters.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const dots = "..."
	if max <= len(dots) {
		return s[:runeFloor(s, max)]
	}
	return s[:runeFloor(s, max-len(dots))] + dots
}

// runeFloor returns the last character boundary of s at or before n.
func runeFloor(s string, n int) int {
	n = min(n, len(s))
	if n <= 0 {
		return 0
	}
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// runeCeil returns the first character boundary of s at or after n.
func runeCeil(s string, n int) int {
	n = max(n, 0)
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return min(n, len(s))
}

// listSlot is a list of short strings: as many as fit, and how many are
// missing.
type listSlot struct {
	dst *[]string
	src []string
}

func (s *listSlot) apply(max int) {
	*s.dst = s.src
	room := max
	for i, w := range s.src {
		if room -= len(w) + len(`"",`); room < 0 {
			*s.dst = append(s.src[:i:i], fmt.Sprintf("... %d more", len(s.src)-i))
			return
		}
	}
}

// slotList collects the slots of an object. more returns what to call to see
// the object whole.
type slotList struct {
	slots []slot
	more  func(offset int) string
}

// text sets a text that may be truncated.
func (l *slotList) text(dst *string, src string) {
	*dst = src
	l.slots = append(l.slots, textSlot{dst: dst, src: longText{src, l.more}})
}

// raw sets a JSON value, if there is one, that may be replaced by a note.
func (l *slotList) raw(dst *json.RawMessage, src json.RawMessage) {
	if len(src) > 0 {
		*dst = src
		l.slots = append(l.slots, rawSlot{dst: dst, src: src, more: l.more(0)})
	}
}

// turnError makes the error of an object, nil for none.
func (l *slotList) turnError(e *core.TurnError) *turnError {
	if e == nil {
		return nil
	}
	o := &turnError{Code: e.Code}
	l.text(&o.Message, e.Message)
	l.raw(&o.Provider, e.Provider)
	return o
}
