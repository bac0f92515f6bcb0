package tools

// nearestName returns the name that a wrong one most likely means, or "" if
// none is near: one contains the other, or at most a third of the letters
// differ.
func nearestName(wrong string, names []string) string {
	best, cost := "", 0
	for _, n := range names {
		d := editDistance(foldName(wrong), foldName(n))
		if d > max(len(wrong), len(n))/3 && !isAffix(foldName(wrong), foldName(n)) {
			continue
		}
		if best == "" || d < cost {
			best, cost = n, d
		}
	}
	return best
}

// foldName removes case and separators.
func foldName(s string) string {
	out := make([]byte, 0, len(s))
	for _, c := range []byte(s) {
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			out = append(out, c-'A'+'a')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// isAffix reports whether one of two names ends or begins with the other, as
// "id" and "session_id" do.
func isAffix(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 2 && (b[:len(a)] == a || b[len(b)-len(a):] == a)
}

// editDistance returns the number of letters to add, remove, replace or swap
// with a neighbour between two names (optimal string alignment).
func editDistance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
