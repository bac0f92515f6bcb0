package process

import (
	"io"
	"os/exec"
	"strconv"
	"testing"
)

// BenchmarkSpawn runs /bin/true from start to reaping with three pipes: the
// floor is os/exec.
func BenchmarkSpawn(b *testing.B) {
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/bin/true")
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			diag, err3 := cmd.StderrPipe()
			if err1 != nil || err2 != nil || err3 != nil {
				b.Fatal(err1, err2, err3)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			in.Close()
			_, _ = io.Copy(io.Discard, out)
			_, _ = io.Copy(io.Discard, diag)
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, mode := range map[string]GuardMode{"plain": GuardOff, "guard": GuardRequired} {
		b.Run(name, func(b *testing.B) {
			if mode == GuardRequired && !guardReady() {
				b.Skip("this system has no guards")
			}
			l := NewLocal(Options{Guard: mode})
			for b.Loop() {
				c, err := l.Start(b.Context(), Spec{Path: "/bin/true"})
				if err != nil {
					b.Fatal(err)
				}
				c.Stdin().Close()
				_, _ = io.Copy(io.Discard, c.Stdout())
				_, _ = io.Copy(io.Discard, c.Stderr())
				<-c.(*child).Gone()
			}
		})
	}
}

// BenchmarkOutput reads 50 MB of a command's output.
func BenchmarkOutput(b *testing.B) {
	const size = 50 << 20
	l := NewLocal(Options{})
	buf := make([]byte, 64<<10)
	b.SetBytes(size)
	for b.Loop() {
		c, err := l.Start(b.Context(), Spec{Path: "/usr/bin/head", Args: []string{"-c", strconv.Itoa(size), "/dev/zero"}})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			k, err := c.Stdout().Read(buf)
			if n += k; err != nil {
				break
			}
		}
		if n != size {
			b.Fatalf("%d bytes", n)
		}
		_, _ = io.Copy(io.Discard, c.Stderr())
		<-c.Done()
	}
}
