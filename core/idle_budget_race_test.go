//go:build race

package core_test

// idleBytes under -race, whose code has larger stacks; see the other build.
const idleBytes = 14 << 10
