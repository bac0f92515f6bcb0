//go:build race

package harness_test

// idleBytes under -race, whose code has larger stacks; see the other build.
const idleBytes = 32 << 10
