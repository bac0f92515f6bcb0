//go:build !race

package harness_test

// idleBytes bounds what a quiet session takes without a child, with a margin:
// heap and stacks.
const idleBytes = 24 << 10
