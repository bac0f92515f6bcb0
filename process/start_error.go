package process

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/harness-mcp/harness-mcp/core"
)

// startEnded is the error of a start whose ctx ended.
func startEnded(path string, cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return core.Errorf(core.CodeStartTimeout, "%s was not started in time: %w", path, cause).Retry()
	}
	return core.Errorf(core.CodeStartFailed, "the start of %s was cancelled: %w", path, cause)
}

// startError returns a coded error for the system's refusal to execute a command.
func startError(run *launch, err error) error {
	var coded *core.Error
	if errors.As(err, &coded) {
		return err
	}
	if core.IsContext(err) {
		return startEnded(run.path, err)
	}
	if dirErr := checkDir(run.dir); dirErr != nil { // it vanished meanwhile
		return dirErr
	}
	e := core.Errorf(core.CodeStartFailed, "%s could not be executed: %w", run.path, err)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return core.Errorf(core.CodeTooLarge, "the arguments and environment of %s are too large: %w", run.path, err).
			WithHint("Pass long texts through a file or standard input.")
	case errors.Is(err, syscall.ENOEXEC):
		return e.WithHint("It is no program for this machine; a script needs a first line like #!/bin/sh.")
	case errors.Is(err, syscall.ENOENT):
		if interpreter := shebang(run.path); interpreter != "" {
			return e.WithHint("It is a script, and its interpreter %s does not exist.", interpreter)
		}
		return e.WithHint("The file, or the loader that it names, does not exist.")
	case errors.Is(err, syscall.EAGAIN):
		return e.WithHint("This user has too many processes.").Retry()
	}
	return e
}

// shebang returns the interpreter that a script names in its first line, or "".
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, maxShebang).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return ""
	}
	return fields[0]
}
