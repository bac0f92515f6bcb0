//go:build race

package process

// A program with a race detector takes 50 ms to start, so each guard does.
const manyStarts = 200
