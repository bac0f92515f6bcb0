package worktree

// Bounds of one look at a work tree.
const (
	// MaxFiles is how many changed files are looked at; a tree with more is
	// not compared.
	MaxFiles = 5000
	// maxOutput bounds what is read of git's answer, in bytes.
	maxOutput = 4 << 20
)
