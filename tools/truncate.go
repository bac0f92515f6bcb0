package tools

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// longText is a text that a reply may have to cut in the middle.
type longText struct {
	text string
	// more says what to call for the part that begins at offset.
	more func(offset int) string
}

// truncate gives the text in at most about max bytes: whole if it is not longer,
// else its beginning and its end with a mark of what is missing, in characters
// and never in halves of them. The offset is where the missing part begins, 0
// when none is missing.
func (l longText) truncate(max int) (text string, offset int) {
	if len(l.text) <= max {
		return l.text, 0
	}
	// Three quarters for the beginning: it says what the text is about; the
	// end mostly says what came of it.
	offset = runeFloor(l.text, max*3/4)
	end := runeCeil(l.text, len(l.text)-(max-offset))
	return fmt.Sprintf("%s\n[... %d bytes: %s ...]\n%s", l.text[:offset], end-offset, l.more(offset), l.text[end:]), offset
}

// slot is a place in a reply whose content shrinks with the budget.
type slot interface {
	// apply makes the content take at most about max bytes.
	apply(max int)
}

// textSlot is a string of an object that may be cut. offset, when set, is told
// where the missing part begins, 0 when none is missing.
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

// fit renders an object so that it takes at most max bytes, by giving each of
// its slots the same share of what there is: short ones stay whole, long ones
// are cut alike. When even empty slots do not fit, that is what comes back.
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

// clip cuts s to at most max bytes on a character border, with three dots for
// what is gone.
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

// runeFloor is the last character border of s at or before n.
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

// runeCeil is the first character border of s at or after n.
func runeCeil(s string, n int) int {
	n = max(n, 0)
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return min(n, len(s))
}

// listSlot is a list of short strings: as many as there is room for, and how
// many are missing.
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
