package claude

import (
	"strconv"
	"strings"
)

// composedSince is the oldest version known to honour client_composed.
// Older ones execute a leading slash command and expand @files all the same; they
// do not even name their version when they open.
var composedSince = [3]int{2, 1, 332}

// takesComposed reports whether a version sends a prompt to the model literally.
func takesComposed(version string) bool {
	v, ok := parseVersion(version)
	if !ok {
		return false
	}
	for i := range v {
		if v[i] != composedSince[i] {
			return v[i] > composedSince[i]
		}
	}
	return true
}

// parseVersion reads "2.1.332", or the line of `claude --version`.
func parseVersion(text string) (v [3]int, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	parts := strings.SplitN(text, ".", 3)
	if len(parts) != 3 {
		return v, false
	}
	parts[2], _, _ = strings.Cut(parts[2], "-")
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
