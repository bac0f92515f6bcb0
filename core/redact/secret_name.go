package redact

import "strings"

// SecretName reports whether a variable or field of this name holds a secret: by
// whole words in snake, kebab and camel case. Counters (total_tokens), flags
// (isSecret), and names of what is about a secret but is not one (token_file,
// tokenUsage, api_key_id) are none.
func SecretName(name string) bool {
	var (
		secret     bool
		prev, last wordKind
	)
	for rest, first := name, true; ; first = false {
		var word [16]byte
		n, more := nextWord(&rest, word[:])
		if !more {
			break
		}
		kind := wordKinds[string(word[:n])]
		switch kind {
		case wordFlag, wordCount:
			if first {
				return false
			}
		case wordSecret:
			secret = true
		case wordKey:
			secret = secret || prev == wordKeyOwner || prev == wordSecret
		case wordPlural:
			secret = secret || prev == wordKeyOwner
		case wordShort:
			secret = secret || prev == wordAccount
		}
		prev, last = kind, kind
	}
	return secret && last != wordAbout && last != wordCount
}

// secretVariable reports whether an environment variable of this name holds a
// secret. Beside the names of SecretName it takes what only variables are called:
// a last word as in GITHUB_PAT, OPENAI_KEY, NEO4J_AUTH or SENTRY_DSN, a connection
// string, the address of a webhook. PWD alone is the current directory.
func secretVariable(name string) bool {
	if SecretName(name) {
		return true
	}
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) < 2 {
		return false
	}
	switch before, last := words[len(words)-2], words[len(words)-1]; last {
	case "KEY":
		return before != "PUBLIC"
	case "PAT", "PASS", "AUTH", "PWD", "DSN":
		return true
	case "STRING":
		return before == "CONNECTION"
	case "URL":
		return before == "WEBHOOK"
	}
	return false
}

// SecretsOf returns the values of those variables of an environment, as
// NAME=value, whose names are those of secrets and whose values are long enough
// to be looked for.
func SecretsOf(env []string) []string {
	var secrets []string
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if ok && len(strings.TrimSpace(value)) >= MinSecret && secretVariable(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// wordKind is the part that a word plays in a name.
type wordKind uint8

const (
	wordPlain    wordKind = iota
	wordSecret            // names a secret
	wordKey               // does after a wordKeyOwner
	wordKeyOwner          // makes a key, or tokens, secret ones
	wordPlural            // counts, unless after a wordKeyOwner
	wordShort             // does after a wordAccount
	wordAccount           // whose password a wordShort is
	wordAbout             // last, it makes the name one about a secret
	wordFlag              // first, it makes the name that of a flag
	wordCount             // first or last, it makes the name that of a count
)

var wordKinds = func() map[string]wordKind {
	kinds := map[string]wordKind{}
	for kind, words := range map[wordKind]string{
		wordSecret: "authorization password passwords passwd passphrase secret secrets token credential credentials " +
			"cookie cookies apikey apitoken privatekey secretkey accesskey accesstoken authtoken refreshtoken " +
			"clientsecret pgpassword sshpass",
		wordKey:      "key keys",
		wordKeyOwner: "api private access signing encryption auth master bearer refresh",
		wordPlural:   "tokens",
		wordShort:    "pass pwd",
		wordAccount:  "db database mysql postgres user admin root smtp mail redis login",
		wordAbout: "file files path paths dir directory folder type kind name names id ids usage info length len size " +
			"ttl expiry expires expiration url uri endpoint provider helper store status mode policy schema details " +
			"hint prompt field index event sock socket required enabled supported",
		wordFlag:  "is has have had needs need requires require use uses should allow allows no with",
		wordCount: "count counts counter limit limits budget total max min num number remaining used",
	} {
		for w := range strings.FieldsSeq(words) {
			kinds[w] = kind
		}
	}
	return kinds
}()

// nextWord takes the next word off the front of s into buf, in lower case, and
// returns its length. What does not fit in buf is cut, and then no known word.
func nextWord(s *string, buf []byte) (n int, ok bool) {
	t := *s
	for t != "" && !letter(t[0]) {
		t = t[1:]
	}
	if t == "" {
		return 0, false
	}
	i := 1
	for i < len(t) && letter(t[i]) {
		// A capital begins a word after a small letter (apiKey) and, the last
		// of several, before one (APIKey).
		if upper(t[i]) && (!upper(t[i-1]) || i+1 < len(t) && letter(t[i+1]) && !upper(t[i+1]) && t[i+1:] != "s") {
			break
		}
		i++
	}
	*s = t[i:]
	for n < i && n < len(buf) {
		buf[n] = t[n] | 0x20
		n++
	}
	return n, true
}

func upper(b byte) bool  { return 'A' <= b && b <= 'Z' }
func letter(b byte) bool { return upper(b) || 'a' <= b && b <= 'z' }
