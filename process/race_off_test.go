//go:build !race

package process

const manyStarts = 1000
