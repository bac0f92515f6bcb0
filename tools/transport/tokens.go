package transport

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Tokens are the bearer tokens that a server accepts, with their principals. It
// is immutable and holds only hashes.
type Tokens struct{ entries []tokenEntry }

type tokenEntry struct {
	principal string
	hash      [sha256.Size]byte
	short     bool
}

var (
	principalName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	tokenValue    = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750
)

// ParseTokens parses the lines of a token file: "NAME TOKEN", where NAME is the
// principal, or a token alone, which belongs to LocalPrincipal. Empty lines and
// those that begin with # are ignored. A name may have several tokens; a token
// has one name.
func ParseTokens(text []byte) (*Tokens, error) {
	t := new(Tokens)
	err := eachToken(text, func(line int, name, token string) error {
		hash := sha256.Sum256([]byte(token))
		for _, other := range t.entries {
			if other.hash == hash {
				return fmt.Errorf("line %d repeats a token", line)
			}
		}
		t.entries = append(t.entries, tokenEntry{name, hash, len(token) < safeToken})
		return nil
	})
	if err == nil && len(t.entries) == 0 {
		err = errors.New("there is no token in it")
	}
	return t, err
}

func eachToken(text []byte, visit func(line int, name, token string) error) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		name := LocalPrincipal
		if len(fields) == 2 {
			name, fields = fields[0], fields[1:]
		}
		// A wrong value may be a secret: it is not quoted.
		switch {
		case len(fields) != 1:
			return fmt.Errorf("line %d is not NAME TOKEN", n)
		case !principalName.MatchString(name):
			return fmt.Errorf("line %d: a name has 1 to 64 of A-Z a-z 0-9 . _ -", n)
		case !tokenValue.MatchString(fields[0]):
			return fmt.Errorf("line %d: a token has only A-Z a-z 0-9 . _ ~ + / - and = at its end", n)
		}
		if err := visit(n, name, fields[0]); err != nil {
			return err
		}
	}
	return lines.Err()
}

// principal returns the principal of a token. It compares with every token, in
// a time that does not depend on any of them.
func (t *Tokens) principal(presented string) (name string, ok bool) {
	hash := sha256.Sum256([]byte(presented))
	for _, e := range t.entries {
		if subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			name, ok = e.principal, true
		}
	}
	return name, ok
}

// Owners returns the names that have a token, each once, in the order of the file.
func (t *Tokens) Owners() (names []string) {
	for _, e := range t.entries {
		if !slices.Contains(names, e.principal) {
			names = append(names, e.principal)
		}
	}
	return names
}

// Guessable returns the names that have a token of fewer than safeToken
// characters, which may be guessed: the number of attempts is not limited.
func (t *Tokens) Guessable() (names []string) {
	for _, e := range t.entries {
		if e.short {
			names = append(names, e.principal)
		}
	}
	return names
}

// OpenTokenFile reads the tokens that a server accepts. A file that does not
// exist is created, readable by its owner only, with one generated token for
// LocalPrincipal. A file that others may read is an error.
func OpenTokenFile(path string) (*Tokens, error) {
	text, err := readTokenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createTokenFile(path); err != nil {
			return nil, fmt.Errorf("creating the token file: %w", err)
		}
		text, err = readTokenFile(path)
	}
	if err != nil {
		return nil, err
	}
	t, err := ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return t, nil
}

// FirstToken returns the first token of a token file, for a client.
func FirstToken(path string) (string, error) {
	text, err := readTokenFile(path)
	if err != nil {
		return "", err
	}
	first := ""
	err = eachToken(text, func(_ int, _, token string) error {
		if first == "" {
			first = token
		}
		return nil
	})
	if err == nil && first == "" {
		err = errors.New("there is no token in it")
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return first, nil
}

func readTokenFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the token file: %w", err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s may be read by others: chmod 600 %[1]s", path)
	case info.Size() > maxTokenFile:
		return nil, fmt.Errorf("%s is no token file: it has %d bytes", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the token file: %w", err)
	}
	return text, nil
}

// createTokenFile makes the file completely or not at all: of several servers
// that start at once, one makes it and the others read it.
func createTokenFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".token-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	var secret [tokenBytes]byte
	_, _ = rand.Read(secret[:]) // never fails
	_, err = fmt.Fprintln(temp, base64.RawURLEncoding.EncodeToString(secret[:]))
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
