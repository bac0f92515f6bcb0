package claude

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// BenchmarkTurn measures a turn on a scripted CLI: by this adapter, and by hand
// on the same pipes, which is the floor. The difference is the adapter's share.
func BenchmarkTurn(b *testing.B) {
	b.Run("adapter", func(b *testing.B) {
		p, cfg := cast(b, "ok")
		conn, err := p.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close(b.Context()) }()
		op := core.OpID(0)
		for b.Loop() {
			op++
			turn := fmt.Sprintf("turn-%d", op)
			if err := conn.Send(core.StartTurn{ID: op, TurnID: turn, Input: core.TurnInput{Prompt: "hello"}}); err != nil {
				b.Fatal(err)
			}
			for over := false; !over; {
				n, err := conn.Recv(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				_, over = n.(core.TurnEnded)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = []string{fakeVar + "=ok"}
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewReader(out)
		n := 0
		for b.Loop() {
			n++
			fmt.Fprintf(in, `{"type":"user","uuid":"%d","message":{"role":"user","content":"hello"}}`+"\n", n)
			for range 7 { // the lines of the part "ok"
				if _, err := lines.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		}
		_ = in.Close()
		_ = cmd.Wait()
	})
}
