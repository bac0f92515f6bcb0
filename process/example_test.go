//go:build unix

package process_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/harness-mcp/harness-mcp/process"
)

// A program calls Init first in main. Then a command and all that it starts
// live no longer than their owner wants, or than the program itself.
func ExampleLocal_Start() {
	process.Init()
	local := process.NewLocal(process.Options{Instance: "example"})
	child, err := local.Start(context.Background(), process.Spec{
		Path:     "/bin/sh",
		Args:     []string{"-c", "read name; echo hello $name; sleep 1000 & exit 3"},
		Env:      process.Environ(os.Environ(), map[string]string{"LANG": "C"}, nil, false),
		Resource: "prc_example",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(child.Stdin(), "world")
	<-child.Done()
	fmt.Println("exit code", child.Exit().Code)

	// It left a process behind, which still holds the pipes.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := child.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	out, _ := io.ReadAll(child.Stdout())
	_, _ = io.Copy(io.Discard, child.Stderr())
	fmt.Print(string(out))
	// Output:
	// exit code 3
	// hello world
}
