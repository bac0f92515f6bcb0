package sqlitestore

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes the test binary play a server process instead of running
// tests: its value names one of the roles.
const roleVariable = "SQLITESTORE_TEST_ROLE"

var roles = map[string]func(path string) error{
	"open":  openAndWait,
	"crowd": openAndCommit,
}

func TestMain(m *testing.M) {
	crash.Writer()
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		if err := role(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
