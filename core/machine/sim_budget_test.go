//go:build !race

package machine

// simSteps is how many steps a test run simulates. The race detector makes a
// step many times dearer and has nothing to find in a pure function, so under
// -race there are fewer.
const simSteps = 1_000_000
