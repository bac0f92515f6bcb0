//go:build race

package core

// simSteps under -race; see the other build.
const simSteps = 60_000
