//go:build unix

package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// proc has what the tests read of a process.
type proc struct {
	ProcessID string `json:"process_id"`
	Status    string `json:"status"`
	ExitCode  *int   `json:"exit_code"`
	Stdout    int64  `json:"stdout_bytes"`
	Cursor    uint64 `json:"cursor"`
	Outcome   string `json:"outcome"`
	Tail      string `json:"tail"`
	Matched   *struct {
		Seq    uint64 `json:"seq"`
		Stream string `json:"stream"`
		Line   string `json:"line"`
	} `json:"matched"`
	Output *struct {
		Text string `json:"text"`
		From uint64 `json:"from"`
		To   uint64 `json:"to"`
	} `json:"output"`
	Results []proc `json:"results"`
}

// process calls a tool that answers with a process.
func (r *scenario) process(tool string, a args) proc {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	res, err := r.Call(ctx, tool, a)
	if err != nil || res.IsError {
		r.t.Fatalf("%s %v: %v %s", tool, a, err, res.Text)
	}
	var p proc
	if err := json.Unmarshal(res.Structured, &p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func TestAREPLIsAtOneCallAStep(t *testing.T) {
	r := newScenario(t, agent{})
	// A shell is the REPL that every system has.
	const prompt = `^repl> $`
	p := r.process("start_process", args{"executable": "sh", "argv": []string{"-i"}, "pty": true,
		"env": args{"PS1": "repl> ", "ENV": ""}, "pattern": prompt, "wait_ms": 20000})
	if p.Matched == nil || p.Matched.Line != "repl> " {
		t.Fatalf("no prompt: %+v", p)
	}
	for _, step := range []struct{ say, hear string }{{"x=41", ""}, {"echo $((x + 1))", "42"}, {"tty", "/dev/"}} {
		p = r.process("send_input", args{"process_id": p.ProcessID, "data": step.say + "\n", "pattern": prompt, "wait_ms": 20000})
		if p.Matched == nil || p.Output == nil || !strings.Contains(p.Output.Text, step.hear) || p.Output.From <= p.Cursor {
			t.Errorf("%q: %+v, %+v", step.say, p, p.Output)
		}
	}
	p = r.process("send_input", args{"process_id": p.ProcessID, "eof": true, "wait_ms": 20000})
	if p.Status != "exited" || p.ExitCode == nil || *p.ExitCode != 0 {
		t.Errorf("after the end of input: %+v", p)
	}
}

func TestAServerIsReadyWhenItSaysSo(t *testing.T) {
	r := newScenario(t, agent{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := r.process("start_process", args{"executable": "sh", "argv": []string{"-c",
		`printf 'loading\n\033[1mlistening\033[0m on '; sleep 0.2; echo ` + ln.Addr().String() + `; exec sleep 600`}})
	a := r.process("await", args{"ids": []string{p.ProcessID}, "pattern": `listening on (\S+:\d+)`, "wait_ms": 20000})
	if a.Outcome != "matched" || len(a.Results) != 1 || a.Results[0].Matched.Line != "listening on "+ln.Addr().String() {
		t.Fatalf("%+v", a)
	}
	// The line was there before this call, and is found again.
	again := r.process("await", args{"ids": []string{p.ProcessID}, "pattern": `listening`, "wait_ms": 20000})
	later := r.process("await", args{"ids": []string{p.ProcessID}, "pattern": `listening`, "after": a.Results[0].Matched.Seq, "wait_ms": 100})
	if again.Outcome != "matched" || later.Outcome != "timeout" {
		t.Errorf("%s and %s", again.Outcome, later.Outcome)
	}
	if p = r.process("close", args{"id": p.ProcessID}); p.Status != "cancelled" {
		t.Errorf("%+v", p)
	}
}

func TestTheLastLinesOfABuildAreInInspect(t *testing.T) {
	r := newScenario(t, agent{})
	p := r.process("start_process", args{"executable": "sh", "argv": []string{"-c",
		`i=0; while [ $i -lt 300 ]; do i=$((i+1)); printf '\033[32mstep %d\033[0m\n' $i; done; echo 'error: it does not build'; exit 2`}})
	a := r.process("await", args{"ids": []string{p.ProcessID}, "wait_ms": 20000})
	if a.Outcome != "done" {
		t.Fatalf("%+v", a)
	}
	p = r.process("inspect", args{"id": p.ProcessID})
	lines := strings.Split(strings.TrimSuffix(p.Tail, "\n"), "\n")
	if p.Status != "exited" || *p.ExitCode != 2 || len(lines) != 20 || lines[18] != "step 300" ||
		!strings.Contains(p.Tail, "error: it does not build") || strings.Contains(p.Tail, "\x1b") {
		t.Errorf("%+v", p)
	}
}

// TestBulkOutputComesBackByteForByte runs 100 MB through one process of the
// program as it ships, and reads them back. What it costs in memory is bounded,
// however much it is: about 12 MiB, give or take the collector's moment.
func TestBulkOutputComesBackByteForByte(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB take a while")
	}
	const size, most = 100 << 20, 20 << 20
	cmd := exec.Command(binary, "serve", "--db", filepath.Join(t.TempDir(), "journal.db"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "HOME=" + t.TempDir()}
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	call := func(tool string, a map[string]any, into any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := c.Call(ctx, tool, a)
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %s", tool, err, res.Text)
		}
		if err := json.Unmarshal(res.Structured, into); err != nil {
			t.Fatal(err)
		}
	}
	run := func(n int) proc {
		var p proc
		call("start_process", map[string]any{"executable": "sh",
			"argv": []string{"-c", "yes 'the quick brown fox jumps over the lazy dog' | head -c " + strconv.Itoa(n)}, "wait_ms": 80000}, &p)
		for end := time.Now().Add(3 * time.Minute); p.Status == "running" && time.Now().Before(end); {
			call("await", map[string]any{"ids": []string{p.ProcessID}, "wait_ms": 60000}, &p)
			p = p.Results[0]
		}
		return p
	}
	run(4 << 20) // what the first process of any size costs
	before := memory(t, cmd.Process.Pid, "VmRSS")
	resetPeak(cmd.Process.Pid)
	p := run(size)
	peak := memory(t, cmd.Process.Pid, "VmHWM")
	t.Logf("RSS %d KiB before, at most %d KiB meanwhile", before>>10, peak>>10)
	if p.Stdout != size || p.Status != "exited" {
		t.Fatalf("%+v", p)
	}
	if peak-before > most {
		t.Errorf("100 MB cost %d bytes of memory, at most %d are allowed", peak-before, most)
	}
	want, got := sha256.New(), sha256.New()
	line := []byte("the quick brown fox jumps over the lazy dog\n")
	for n := 0; n < size; n += len(line) {
		want.Write(line[:min(len(line), size-n)])
	}
	for after, more := uint64(0), true; more; {
		var page struct {
			Cursor uint64
			More   bool
			Events []struct{ Data struct{ Text string } }
		}
		call("replay", map[string]any{"id": p.ProcessID, "after": after, "view": "events", "types": []string{"stdout"},
			"limit": 1000, "max_bytes": 1 << 20}, &page)
		for _, e := range page.Events {
			got.Write([]byte(e.Data.Text))
		}
		after, more = page.Cursor, page.More
	}
	if string(want.Sum(nil)) != string(got.Sum(nil)) {
		t.Error("the bytes that replay gives differ")
	}
}

// resetPeak lets VmHWM restart.
func resetPeak(pid int) { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }

// memory reads a field of a process's status, in bytes.
func memory(t *testing.T, pid int, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("this system does not tell of a process's memory")
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == field {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Skip("this system does not tell of " + field)
	return 0
}
