package harness

import (
	"os/exec"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// isCommandLine reports whether an executable is most likely a whole command
// line, which is never split here: several words that name no program. A
// path with spaces whose first word is no program either is just a wrong path.
func isCommandLine(executable string) bool {
	words := strings.Fields(executable)
	if len(words) < 2 || isProgram(executable) {
		return false
	}
	return !strings.ContainsAny(words[0], `/\`) || isProgram(words[0])
}

func isProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// refuseCommandLine returns the error for a command line. Its hint has the line
// as a program and its arguments, or as an argument of a shell where only a
// shell can read it.
func refuseCommandLine(s core.ProcessSpec) error {
	words := strings.Fields(s.Executable)
	program, argv := words[0], append(words[1:], s.Argv...)
	if strings.ContainsAny(s.Executable, "|&;<>()$`'\"\\*?~#=") {
		program, argv = "sh", append([]string{"-c", s.Executable}, s.Argv...)
	}
	refused := core.Errorf(core.CodeInvalidArgument, "executable %q is a command line, and no shell reads it", core.Truncate(s.Executable, maxShownLine))
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = strconv.Quote(a)
	}
	if list := strings.Join(quoted, ","); len(list) <= maxShownLine {
		return refused.WithHint("Give executable %q, argv [%s].", program, list)
	}
	return refused.WithHint("Give executable %q, and the rest as argv.", program)
}

// maxShownLine bounds how much of a command line an error repeats, in bytes.
const maxShownLine = 200
