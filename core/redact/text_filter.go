package redact

import "strings"

// maxHeldHidden is how many bytes of escape sequences a stream holds back at
// most, since the text between them may be the parts of a secret. A secret
// that is cut by more of them could be missed.
const maxHeldHidden = 16 << 10

// TextFilter removes secrets from one stream of text, or of bytes that may be
// text. It holds back the end of what it was given only as far as that may be
// the beginning of a secret. It is used by one goroutine.
//
// Control sequences do not hide a secret: the text is read as it is shown,
// without them, and once more with them, for what is inside of one. Those inside
// of a secret follow the mark, so that a terminal has the same colours after it.
// Text without a secret is unchanged.
type TextFilter struct {
	seen plainFilter // the text without control sequences

	escapes EscapeStripper
	hidden  []hidden // inside of what seen holds back
	bytes   int      // of all of them
	whole   *plainFilter
}

// hidden is a run of bytes that are not shown, and its offset in the held text.
type hidden struct {
	at    int
	bytes []byte
}

// plainFilter is a stream in which every byte counts.
type plainFilter struct {
	r    *Redactor
	scan scanState
	held string
}

// write takes the next piece and returns what may be shown now.
func (f *plainFilter) write(text string, final bool) string {
	shown, rest := f.r.scan(&f.scan, f.held+text, final)
	f.held = rest
	return shown
}

// TextFilter makes the filter of one stream.
func (r *Redactor) TextFilter() *TextFilter { return &TextFilter{seen: plainFilter{r: r}} }

// Write takes the next piece and returns what may be shown now. The results of
// Write and Flush, joined, are what Redactor.String returns for the whole.
func (f *TextFilter) Write(p []byte) string { return f.write(string(p), false) }

// Held is how many bytes are held back.
func (f *TextFilter) Held() int {
	n := len(f.seen.held) + f.bytes
	if f.whole != nil {
		n += len(f.whole.held)
	}
	return n
}

// Flush ends the stream and returns what was held back.
func (f *TextFilter) Flush() string { return f.write("", true) }

// write filters the next piece; final ends the stream. Up to the first hidden
// byte one reading is enough. From it on the text is read twice: without hidden
// bytes, then with them.
func (f *TextFilter) write(text string, final bool) string {
	first := firstHidden(text)
	if f.whole == nil {
		if first < 0 {
			return f.seen.write(text, final)
		}
		// The second reading begins right here, however the text was cut: what is
		// read twice in one cut and once in another would not come out the same.
		shown := f.seen.write(text[:first], false)
		f.whole = &plainFilter{r: f.seen.r, scan: scanState{prev: f.seen.scan.prev, prev2: f.seen.scan.prev2}}
		return shown + f.write(text[first:], final)
	}
	if len(f.hidden) == 0 && f.escapes.state == escNone && first < 0 {
		return f.whole.write(f.seen.write(text, final), final)
	}
	return f.whole.write(f.around(text, final), final)
}

// hides reports whether a text has bytes that are not shown.
func hides(text string) bool { return firstHidden(text) >= 0 }

// firstHidden returns the index of the first byte that is not shown, or -1. All
// text is scanned here, so eight bytes are looked at together: that takes a
// third of the time.
func firstHidden(text string) int {
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		if mayHide(text[i:]) {
			if n := hiddenIn(text[i : i+8]); n >= 0 {
				return i + n
			}
		}
	}
	if n := hiddenIn(text[i:]); n >= 0 {
		return i + n
	}
	return -1
}

// mayHide reports whether one of the first eight bytes is below a blank, as line
// ends are, or is DEL.
func mayHide(s string) bool {
	w := load8(s)
	return (belowBlank(w)|zeroByte(w^0x7f*eachByte))&highBits != 0
}

// hiddenIn is firstHidden byte by byte. Line ends, tabs and backspaces do not
// count as hidden.
func hiddenIn(text string) int {
	for i := range len(text) {
		if c := text[i]; c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\b' || c == 0x7f {
			return i
		}
	}
	return -1
}

// around redacts the next piece of the text without its hidden bytes, and
// inserts those again.
func (f *TextFilter) around(text string, final bool) string {
	seen := f.split(text)
	final = final || f.bytes > maxHeldHidden
	edits := []edit{}
	f.seen.scan.edits = &edits
	_, rest := f.seen.r.scan(&f.seen.scan, seen, final)
	f.seen.scan.edits = nil
	done := len(seen) - len(rest)
	f.seen.held = strings.Clone(rest)
	return f.join(seen, edits, done)
}

// split returns what is held back and the next piece without hidden bytes, and
// keeps those with their offsets.
func (f *TextFilter) split(text string) string {
	seen := make([]byte, 0, len(f.seen.held)+len(text))
	seen = append(seen, f.seen.held...)
	for i := range len(text) {
		c := text[i]
		if !f.escapes.hides(c) {
			seen = append(seen, c)
			continue
		}
		if n := len(f.hidden); n == 0 || f.hidden[n-1].at != len(seen) {
			f.hidden = append(f.hidden, hidden{at: len(seen)})
		}
		h := &f.hidden[len(f.hidden)-1]
		h.bytes = append(h.bytes, c)
		f.bytes++
	}
	return string(seen)
}

// join returns the first bytes of the seen text, up to done, with the edits made
// and the hidden bytes in their places.
func (f *TextFilter) join(seen string, edits []edit, done int) string {
	var out strings.Builder
	out.Grow(done + f.bytes)
	next, at := 0, 0 // the next of f.hidden; how far seen is done
	upTo := func(end int, show bool) {
		for ; next < len(f.hidden) && f.hidden[next].at <= end; next++ {
			if h := f.hidden[next]; show {
				out.WriteString(seen[at:h.at])
				at = h.at
			}
			out.Write(f.hidden[next].bytes)
			f.bytes -= len(f.hidden[next].bytes)
		}
		if show {
			out.WriteString(seen[at:end])
		}
		at = end
	}
	for _, e := range edits {
		upTo(e.from, true)
		if e.mark {
			out.WriteString(Redacted)
		}
		upTo(e.to, false)
	}
	upTo(done, true)
	f.hidden = f.hidden[next:]
	for i := range f.hidden {
		f.hidden[i].at -= done
	}
	return out.String()
}

// Eight bytes of a text, looked at together. The results of the functions have bits
// of highBits just when one of the bytes is meant; bytes beyond ASCII are not.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
)

func belowBlank(w uint64) uint64 { return (w - 0x20*eachByte) &^ w }
func zeroByte(w uint64) uint64   { return (w - eachByte) &^ w }

// load8 is one load, of the first eight bytes.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
