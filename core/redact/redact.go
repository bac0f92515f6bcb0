package redact

import (
	"encoding/json"
	"slices"
	"strings"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// Bounds of redaction, in bytes.
const (
	// MinSecret is the shortest value that counts as a secret: shorter ones
	// would also match ordinary words.
	MinSecret = 8
	// maxSecret is the longest value that is looked for in one piece; a longer
	// one is cut into pieces, each a secret of its own. It bounds what a
	// stream holds back for known values.
	maxSecret = 4 << 10
	// maxShape is how far a key of a known shape reaches at most, so that a
	// private key without an end cannot hide a whole stream.
	maxShape = 64 << 10
	// maxShapeHold is how many bytes a stream holds back at most until it is
	// clear whether they begin a key of a known shape.
	maxShapeHold = 640
)

// Redactor takes secrets out of what is stored, logged or returned: known
// values, and what has the shape of a bearer token, an API key or a private
// key. In JSON it also takes the text under a key whose name looks secret. It
// touches text only, never numbers, booleans or structure. It does not change
// after New and is safe for concurrent use.
//
// One left-to-right scan decides everything. What it decides at a position
// depends on the text from there on and on the two bytes before it, never on
// how the text was cut; so a stream that waits until a decision is certain
// returns, joined, exactly what the whole text returns. Text with control sequences
// is scanned twice: see TextFilter.
type Redactor struct {
	// pairs has every two bytes that may begin something: what nearly all text
	// is measured by, and all that most of it meets. Those in inWord may begin
	// something inside a word, too.
	pairs   pairSet
	inWord  pairSet
	starts  map[uint16]*candidates
	secret1 [256]bool // the first bytes of secrets
	shape1  [256]bool // the first bytes of shapes
}

// pairSet is a set of two bytes, the first of them in the higher half.
type pairSet [1 << 10]uint64

func (s *pairSet) add(p uint16)      { s[p>>6] |= 1 << (p & 63) }
func (s *pairSet) has(p uint16) bool { return s[p>>6]>>(p&63)&1 != 0 }

// hasOf4 reports whether one of the four pairs in five bytes is in the set. Looked
// up side by side they take half the time of one after another, and text is
// searched for little else than what is not there.
func (s *pairSet) hasOf4(t string) bool {
	_ = t[4]
	a, b, c, d, e := uint16(t[0]), uint16(t[1]), uint16(t[2]), uint16(t[3]), uint16(t[4])
	ab, bc, cd, de := a<<8|b, b<<8|c, c<<8|d, d<<8|e
	return (s[ab>>6]>>(ab&63)|s[bc>>6]>>(bc&63)|s[cd>>6]>>(cd&63)|s[de>>6]>>(de&63))&1 != 0
}

// candidates is what may begin with one pair of bytes.
type candidates struct {
	secrets []string // longest first
	shapes  []*shape
}

// New returns a Redactor of the given values and of all key shapes.
// Values are trimmed of white space; those shorter than MinSecret are ignored.
func New(secrets []string) *Redactor {
	r := &Redactor{starts: map[uint16]*candidates{}}
	for i := range shapes {
		s := &shapes[i]
		for _, p := range s.pairs() {
			c := r.start(p, !s.word)
			c.shapes = append(c.shapes, s)
			r.shape1[p[0]] = true
		}
	}
	for _, v := range spellings(secrets) {
		c := r.start(v, true)
		c.secrets = append(c.secrets, v)
		r.secret1[v[0]] = true
	}
	for _, c := range r.starts {
		slices.SortFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
	}
	return r
}

// start returns the candidates for what begins with the first bytes of s.
func (r *Redactor) start(s string, inWord bool) *candidates {
	p := uint16(s[0])<<8 | uint16(s[1])
	r.pairs.add(p)
	if inWord {
		r.inWord.add(p)
	}
	if r.starts[p] == nil {
		r.starts[p] = &candidates{}
	}
	return r.starts[p]
}

// spellings returns every form in which the values are looked for, once each:
// as they are, as they are seen, and as a JSON string spells them, for JSON
// that is shown as text.
func spellings(values []string) []string {
	var all []string
	for _, v := range values {
		v = strings.TrimSpace(v)
		all = append(all, pieces(v)...)
		if hides(v) {
			var e EscapeStripper
			all = append(all, pieces(string(e.Strip([]byte(v))))...)
		}
		if q := quote(v); q[1:len(q)-1] != v {
			all = append(all, pieces(q[1:len(q)-1])...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pieces cuts a value into secrets that may be held back whole.
func pieces(v string) []string {
	var ps []string
	for len(v) >= maxSecret+MinSecret {
		ps, v = append(ps, v[:maxSecret]), v[maxSecret:]
	}
	// A value that is part of the mark would be found in every mark.
	if len(v) >= MinSecret && !strings.Contains(Redacted, v) {
		ps = append(ps, v)
	}
	return ps
}

// String returns s with every secret in it replaced by Redacted.
func (r *Redactor) String(s string) string {
	if !hides(s) {
		out, _ := r.scan(&scanState{}, s, true)
		return out
	}
	out := r.TextFilter().write(s, true)
	if out == s {
		return s // which callers compare, and may keep
	}
	return out
}

// Strings is String for each of ss. It returns ss itself when nothing changed.
func (r *Redactor) Strings(ss []string) []string {
	return redactEach(ss, r.String)
}

// scanState is the state of the scan of one text between two pieces of it.
type scanState struct {
	prev, prev2 byte // the last bytes that were consumed, as they were
	dropping    bool // inside or right after a secret
	cover       int  // bytes that are still to be dropped, whatever they are
	class       class
	left        int // how many more bytes of the class may be dropped

	edits *[]edit // what scan does to the text it is given, when that is wanted
}

// edit drops a part of a text, or puts a mark where one begins.
type edit struct {
	from, to int
	mark     bool
}

func (st *scanState) edit(from, to int, mark bool) {
	if st.edits != nil {
		*st.edits = append(*st.edits, edit{from, to, mark})
	}
}

// boundary reports whether a word may begin here. A letter after a backslash is
// the end of an escape, as in text that shows JSON.
func (st *scanState) boundary(s string, i int) bool {
	prev, prev2 := st.prev, st.prev2
	if i > 0 {
		prev2, prev = prev, s[i-1]
	}
	if i > 1 {
		prev2 = s[i-2]
	}
	return !alnum.has(prev) || prev2 == '\\' && (prev == 'n' || prev == 'r' || prev == 't')
}

func (st *scanState) consumed(s string) {
	switch n := len(s); {
	case n > 1:
		st.prev2, st.prev = s[n-2], s[n-1]
	case n == 1:
		st.prev2, st.prev = st.prev, s[0]
	}
}

// scan reads the next piece of a text. It returns what can be shown of it, and
// the rest that must be given again in front of the next piece, since it may
// begin a secret. With final there is no rest.
func (r *Redactor) scan(st *scanState, s string, final bool) (shown, rest string) {
	var out []byte
	i, kept := 0, 0 // s[kept:i] is to be shown and not yet in out
	for i < len(s) {
		if st.dropping {
			n, wait := r.drop(st, s[i:], final)
			st.edit(i, i+n, false)
			i += n
			kept = i
			if wait {
				break
			}
			continue
		}
		f := r.find(st, s, i, final)
		i = f.at
		if f.wait || f.at == len(s) {
			break
		}
		out = append(append(out, s[kept:i+f.keep]...), Redacted...)
		i += f.keep
		st.edit(i, i, true)
		kept = i
		st.dropping, st.cover, st.class, st.left = true, f.cover, f.class, maxShape
	}
	st.consumed(s[:i])
	if out == nil {
		return s[kept:i], s[i:]
	}
	return string(append(out, s[kept:i]...)), s[i:]
}

// found is a secret, the end of the text, or a place where more is needed.
type found struct {
	at    int
	wait  bool
	keep  int // bytes from at that are shown before the mark
	cover int
	class class
}

// find looks for the next secret from i on, where i < len(s).
func (r *Redactor) find(st *scanState, s string, i int, final bool) found {
	for ; i+1 < len(s); i++ {
		for i+4 < len(s) && !r.pairs.hasOf4(s[i:i+5]) {
			i += 4
		}
		if i+1 == len(s) {
			break
		}
		p := uint16(s[i])<<8 | uint16(s[i+1])
		if !r.pairs.has(p) {
			continue
		}
		boundary := st.boundary(s, i)
		if !boundary && !r.inWord.has(p) {
			continue
		}
		c := r.starts[p]
		n, wait := c.secret(s[i:], final)
		if wait || n > 0 {
			return found{at: i, wait: wait, cover: n}
		}
		if f := c.shape(s[i:], boundary, final); f.wait || f.cover > 0 {
			f.at = i
			if f.keep > len(urlPrefix) && s[i] == urlPrefix[0] {
				r.hideName(&f, s)
			}
			return f
		}
	}
	if !final {
		c := s[i]
		if r.secret1[c] || r.shape1[c] && (c == '-' || c == ':' || st.boundary(s, i)) {
			return found{at: i, wait: true}
		}
	}
	return found{at: len(s)}
}

// hideName takes the name in a URL, too, when that is a secret itself.
func (r *Redactor) hideName(f *found, s string) {
	name := s[f.at+len(urlPrefix) : f.at+f.keep]
	if r.String(name) != name {
		f.cover += len(name)
		f.keep = len(urlPrefix)
	}
}

// drop reads on inside a secret. It follows every known value that begins in
// there or right after, so that values that overlap or touch become one mark. It returns how many
// bytes are gone, and whether it needs more text to go on.
func (r *Redactor) drop(st *scanState, s string, final bool) (n int, wait bool) {
	for ; n < len(s); n++ {
		l, more := r.secretAt(s[n:], final)
		if more {
			return n, true
		}
		st.cover = max(st.cover, l)
		if st.class == pemBody && s[n] == '-' {
			l, more := pemEnd(s[n:], final)
			if more {
				return n, true
			}
			if l > 0 {
				st.cover, st.class = max(st.cover, l), noClass
			}
		}
		switch {
		case st.cover > 0:
			st.cover--
		case st.class.has(s[n]) && st.left > 0:
			st.left--
		default:
			st.dropping = false
			return n, false
		}
	}
	return n, false
}

// secretAt returns the length of the longest known value that s begins with, and
// whether s may be the beginning of a longer one.
func (r *Redactor) secretAt(s string, final bool) (n int, wait bool) {
	if len(s) == 1 {
		return 0, !final && r.secret1[s[0]]
	}
	p := uint16(s[0])<<8 | uint16(s[1])
	if !r.inWord.has(p) {
		return 0, false
	}
	return r.starts[p].secret(s, final)
}

func (c *candidates) secret(s string, final bool) (n int, wait bool) {
	for _, v := range c.secrets {
		if len(v) <= len(s) {
			if s[:len(v)] == v {
				return len(v), false
			}
		} else if !final && v[:len(s)] == s {
			return 0, true
		}
	}
	return 0, false
}

func (c *candidates) shape(s string, boundary, final bool) found {
	for _, sh := range c.shapes {
		if !boundary && sh.word {
			continue
		}
		if f := sh.match(s, final); f.wait || f.cover > 0 {
			return f
		}
	}
	return found{}
}

// redactEach applies f to every element and copies only when one changed.
func redactEach(ss []string, f func(string) string) []string {
	out := ss
	for i, s := range ss {
		t := f(s)
		if t == s {
			continue
		}
		if &out[0] == &ss[0] {
			out = slices.Clone(ss)
		}
		out[i] = t
	}
	return out
}

// quote spells s as a JSON string, without the escapes that only HTML needs.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes, and a Builder takes everything
	return strings.TrimSuffix(b.String(), "\n")
}
