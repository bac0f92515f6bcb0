package redact

import "strings"

// shape is the form of a kind of key: a prefix, then bytes of a class.
type shape struct {
	prefix string
	fold   bool // the prefix may be in either case
	word   bool // it must not be inside a word
	class  class
	min    int  // so many bytes of the class make it certain
	strong bool // one of the first of them must be a digit or a capital
	verify func(s string, final bool) found
}

// strongWindow is how far a strong byte is looked for.
const strongWindow = 24

// shapes are the keys that are known by their form. A prefix alone is never enough:
// people and agents write about keys all day.
var shapes = []shape{
	{prefix: "sk-", word: true, class: base64url, min: 16, strong: true},
	{prefix: "sk_live_", word: true, class: alnum, min: 16},
	{prefix: "sk_test_", word: true, class: alnum, min: 16},
	{prefix: "rk_live_", word: true, class: alnum, min: 16},
	{prefix: "ghp_", word: true, class: alnum, min: 20},
	{prefix: "gho_", word: true, class: alnum, min: 20},
	{prefix: "ghu_", word: true, class: alnum, min: 20},
	{prefix: "ghs_", word: true, class: alnum, min: 20},
	{prefix: "ghr_", word: true, class: alnum, min: 20},
	{prefix: "github_pat_", word: true, class: wordByte, min: 22, strong: true},
	{prefix: "glpat-", word: true, class: base64url, min: 20, strong: true},
	{prefix: "xoxa-", word: true, class: base64url, min: 10, strong: true},
	{prefix: "xoxb-", word: true, class: base64url, min: 10, strong: true},
	{prefix: "xoxp-", word: true, class: base64url, min: 10, strong: true},
	{prefix: "xoxr-", word: true, class: base64url, min: 10, strong: true},
	{prefix: "xoxs-", word: true, class: base64url, min: 10, strong: true},
	{prefix: "AKIA", word: true, class: upperDigit, min: 16},
	{prefix: "ASIA", word: true, class: upperDigit, min: 16},
	{prefix: "AIza", word: true, class: base64url, min: 30},
	{prefix: "ya29.", word: true, class: base64url, min: 20},
	{prefix: "npm_", word: true, class: alnum, min: 30},
	{prefix: "hf_", word: true, class: alnum, min: 30},
	{prefix: "pypi-", word: true, class: base64url, min: 50, strong: true},
	{prefix: "eyJ", word: true, class: jwtByte, verify: verifyJWT},
	{prefix: "bearer", fold: true, word: true, class: bearerByte, verify: verifyBearer},
	{prefix: urlPrefix, verify: verifyURL},
	{prefix: "-----BEGIN ", class: pemBody, verify: verifyPEM},
}

// pairs returns the two bytes, in every case, that the shape may begin with.
func (sh *shape) pairs() []string {
	p := sh.prefix[:2]
	if !sh.fold {
		return []string{p}
	}
	l, u := strings.ToLower(p), strings.ToUpper(p)
	return []string{l, u, u[:1] + l[1:], l[:1] + u[1:]}
}

// match reports whether s begins with the shape. It decides only what no further
// text can change.
func (sh *shape) match(s string, final bool) found {
	n := min(len(s), len(sh.prefix))
	if s[:n] != sh.prefix[:n] && !(sh.fold && strings.EqualFold(s[:n], sh.prefix[:n])) {
		return found{}
	}
	if n < len(sh.prefix) {
		return found{wait: !final}
	}
	var f found
	if sh.verify != nil {
		f = sh.verify(s[n:], final)
	} else {
		f = sh.run(s[n:], final)
	}
	if f.cover > 0 {
		f.class = sh.class
		if f.keep > 0 {
			f.keep += n
		} else {
			f.cover += n
		}
	}
	return f
}

func (sh *shape) run(s string, final bool) found {
	strong := !sh.strong
	window := max(sh.min, strongWindow)
	n := 0
	for n < len(s) && n < window && sh.class.has(s[n]) {
		strong = strong || upperDigit.has(s[n])
		n++
	}
	switch {
	case n >= sh.min && strong:
		return found{cover: n}
	case n == len(s) && n < window:
		return found{wait: !final}
	}
	return found{}
}

// verifyBearer takes the token after the word "bearer" and keeps the word. A
// short token must have a digit: "bearer authentication" is English.
func verifyBearer(s string, final bool) found {
	const (
		blanks = 4
		long   = 16
	)
	k := 0
	for k < len(s) && k < blanks && (s[k] == ' ' || s[k] == '\t') {
		k++
	}
	n, digit := k, false
	for n < len(s) && n-k < long && bearerByte.has(s[n]) {
		digit = digit || '0' <= s[n] && s[n] <= '9'
		n++
	}
	switch {
	case k == 0 && len(s) > 0:
		return found{}
	case n-k == long:
	case n == len(s) && !final:
		return found{wait: true}
	case k == 0 || n-k < MinSecret || !digit:
		return found{}
	}
	return found{keep: k, cover: n - k}
}

// verifyJWT requires a header and the beginning of the part after its dot: what
// begins with eyJ alone may be any JSON in base64.
func verifyJWT(s string, final bool) found {
	const (
		part   = 8
		header = maxShapeHold - 128 // the rest is for what surrounds it
	)
	n := 0
	for n < len(s) && n < header && base64url.has(s[n]) {
		n++
	}
	if n == len(s) && n < header {
		return found{wait: !final}
	}
	if n < part || n == len(s) || s[n] != '.' {
		return found{}
	}
	n++
	for end := n + part; n < end; n++ {
		if n == len(s) {
			return found{wait: !final}
		}
		if !base64url.has(s[n]) {
			return found{}
		}
	}
	return found{cover: n}
}

// urlPrefix is what separates a URL's scheme from its host.
const urlPrefix = "://"

// verifyURL requires a name and a password before the host of a URL, and keeps the
// name. An unescaped @ in either is theirs, and not the end.
func verifyURL(s string, final bool) found {
	const most = 256
	n, colon, at := 0, -1, -1
	for n < len(s) && n < most && userInfo.has(s[n]) {
		switch {
		case s[n] == '@':
			at = n
		case s[n] == ':' && colon < 0:
			colon = n
		}
		n++
	}
	switch {
	case n == len(s) && n < most && !final:
		return found{wait: true}
	case colon < 0 || at-colon < 2:
		return found{}
	}
	return found{keep: colon + 1, cover: at - colon - 1}
}

// verifyPEM requires the rest of a private key's first line, a line break, and the
// beginning of a body.
func verifyPEM(s string, final bool) found {
	const body = 9 // "Proc-Type" is the shortest first word
	l := pemLabel(s)
	if l == 0 {
		return found{wait: !final && pemLabelBegins(s)}
	}
	n, brk := l, false
	for n < len(s) && n < l+24 && pemBreak.has(s[n]) {
		brk = brk || s[n] == '\n' || s[n] == '\\' || s[n] == ' '
		n++
	}
	// An escaped line break ends in a letter.
	if n < len(s) && s[n-1] == '\\' && (s[n] == 'n' || s[n] == 'r') {
		n++
		if rest := s[n:]; strings.HasPrefix(rest, `\n`) {
			n += 2
		} else if rest == `\` && !final {
			return found{wait: true}
		}
	}
	for end := n + body; n < end; n++ {
		if n == len(s) {
			return found{wait: !final}
		}
		if !base64Std.has(s[n]) && s[n] != '-' {
			return found{}
		}
	}
	if !brk {
		return found{}
	}
	return found{cover: n}
}

// pemLabels are the labels of private keys in PEM, after BEGIN or END.
var pemLabels = []string{
	"PRIVATE KEY-----", "RSA PRIVATE KEY-----", "EC PRIVATE KEY-----", "DSA PRIVATE KEY-----",
	"OPENSSH PRIVATE KEY-----", "ENCRYPTED PRIVATE KEY-----", "PGP PRIVATE KEY BLOCK-----",
}

// pemLabel returns the length of the label that s begins with, or 0.
func pemLabel(s string) int {
	for _, l := range pemLabels {
		if strings.HasPrefix(s, l) {
			return len(l)
		}
	}
	return 0
}

// pemLabelBegins reports whether s is the beginning of a label.
func pemLabelBegins(s string) bool {
	for _, l := range pemLabels {
		if strings.HasPrefix(l, s) {
			return true
		}
	}
	return false
}

// pemEnd returns the length of a private key's last line at the start of s.
func pemEnd(s string, final bool) (n int, wait bool) {
	const end = "-----END "
	if len(s) < len(end) {
		return 0, !final && end[:len(s)] == s
	}
	if s[:len(end)] != end {
		return 0, false
	}
	if l := pemLabel(s[len(end):]); l > 0 {
		return len(end) + l, false
	}
	return 0, !final && pemLabelBegins(s[len(end):])
}

// class is a set of ASCII bytes.
type class uint16

const (
	noClass    class = 0
	upperDigit class = 1 << iota
	alnum
	wordByte
	base64url
	base64Std
	bearerByte
	jwtByte
	pemBreak
	pemBody
	userInfo
)

func (c class) has(b byte) bool { return classes[b]&c != 0 }

var classes = func() (t [256]class) {
	const (
		digits = "0123456789"
		upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		lower  = "abcdefghijklmnopqrstuvwxyz"
	)
	for c, set := range map[class]string{
		upperDigit: digits + upper,
		alnum:      digits + upper + lower,
		wordByte:   digits + upper + lower + "_",
		base64url:  digits + upper + lower + "_-",
		base64Std:  digits + upper + lower + "+/=",
		bearerByte: digits + upper + lower + "-._~+/=",
		jwtByte:    digits + upper + lower + "_-.",
		// A key is often quoted, commented or part of a diff.
		pemBreak: " \t\r\n\\+>|#*\"'",
		pemBody:  digits + upper + lower + "+/=-:,. \t\r\n\\>|#*\"'",
	} {
		for i := range len(set) {
			t[set[i]] |= c
		}
	}
	for i := range t { // what ends the host of a URL, or a URL in a text
		if i > ' ' && i != 0x7f && !strings.ContainsRune("/?#\\\"<>`", rune(i)) {
			t[i] |= userInfo
		}
	}
	return t
}()
