//go:build race

package machine

// simSteps under -race; see the other build.
const simSteps = 60_000
