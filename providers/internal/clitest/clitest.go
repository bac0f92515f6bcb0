// Package clitest helps tests of an adapter to run a CLI: a real one that is
// installed, in a network of its own where the machine allows one, or one in
// memory that the test plays. It is for tests only; internal/conntest is for what
// the adapter makes of the CLI.
package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// requireVar makes a CLI that is not installed a failure.
const requireVar = "HARNESS_MCP_REQUIRE_CLIS"

// Find returns the absolute path of a real CLI: the one that a variable names, or
// the first file that matches a pattern. Without one it skips the test.
func Find(t testing.TB, variable, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{os.Getenv(variable)}, found...) {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(abs); err == nil {
			return abs
		}
	}
	why := fmt.Sprintf("a CLI is not installed: neither %s nor %s names it (make tools installs it)", variable, strings.TrimLeft(pattern, "./"))
	if os.Getenv(requireVar) == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// Running returns the pids of processes whose command line has the words, which
// takes Linux's /proc.
func Running(words string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		raw, err := os.ReadFile(f)
		var pid int
		if err == nil && strings.Contains(strings.ReplaceAll(string(raw), "\x00", " "), words) {
			if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return pids
}

// Eventually waits for a fact of the system that nothing announces, for a minute
// at most.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("never: " + what)
		}
	}
}
