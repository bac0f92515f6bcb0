package claude

import "io"

const fakeVar = "CLAUDE_TEST_FAKE"

func playFake(io.Reader, io.Writer) {}
