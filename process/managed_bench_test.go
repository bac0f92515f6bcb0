package process

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

// flood is a program that writes n bytes of lines.
func flood(n int) (path string, args []string) {
	return "/bin/sh", []string{"-c", "yes 'the quick brown fox jumps over the lazy dog 0123456789' | head -c " + strconv.Itoa(n)}
}

// BenchmarkManagedOutput compares 100 MB through a managed process with a bare
// copy of the same program's pipe into the same store: a read, an event, a
// commit, with nothing else done. The metric ratio is the managed throughput by
// that of the copy.
func BenchmarkManagedOutput(b *testing.B) {
	const size = 100 << 20
	store := openSQLite(b)
	s := NewSupervisor(SupervisorOptions{Local: NewLocal(Options{Log: store, Instance: store.Instance()}), Store: store})
	b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	path, args := flood(size)
	var bare, managed time.Duration
	b.SetBytes(size)
	for b.Loop() {
		bare += copyBare(b, store, path, args)
		begin := time.Now()
		p, err := s.Start(b.Context(), startOf("/bin/sh", args...))
		if err != nil {
			b.Fatal(err)
		}
		if p = waitEnd(b, s, store, p.ID); p.StdoutBytes != size {
			b.Fatalf("%d bytes", p.StdoutBytes)
		}
		managed += time.Since(begin)
		b.StopTimer()
		if err := store.Delete(b.Context(), p.Owner, p.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(bare.Seconds()/managed.Seconds(), "ratio")
	b.ReportMetric(float64(size)*float64(b.N)/bare.Seconds()/1e6, "bare-MB/s")
	b.ReportMetric(float64(size)*float64(b.N)/managed.Seconds()/1e6, "managed-MB/s")
}

// copyBare is the floor.
func copyBare(b *testing.B, store core.Store, path string, args []string) time.Duration {
	begin := time.Now()
	cmd := exec.Command(path, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	id := core.NewID(core.PrefixProcess)
	rec := &core.ProcessRecord{Process: core.ProcessSnapshot{ID: id, Owner: "o", Status: core.ProcessDoneExited, CreatedAt: begin, FinishedAt: begin}}
	buf := make([]byte, maxOutputEvent)
	for seq := uint64(0); ; seq++ {
		n, err := out.Read(buf)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		batch := core.Batch{Owner: "o", Resource: id, Instance: store.Instance(), ExpectSeq: seq, Events: []core.Event{{
			SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: id, Seq: seq + 1, Type: core.TypeStdout, At: begin,
			Data: core.NewOutputData(buf[:n]).Raw()}}}
		if seq == 0 {
			batch.Create, batch.Process = true, rec
		}
		if err := store.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begin)
	if err := store.Delete(b.Context(), "o", id); err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkManagedStart compares the start of a managed process, until it is
// stored, with os/exec and one commit. The metric over-ms is what it costs
// beyond that.
func BenchmarkManagedStart(b *testing.B) {
	store := openSQLite(b)
	s := NewSupervisor(SupervisorOptions{Local: NewLocal(Options{Log: store, Instance: store.Instance()}), Store: store})
	b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	var bare, managed time.Duration
	for b.Loop() {
		begin := time.Now()
		cmd := exec.Command("/bin/true")
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		diag, err3 := cmd.StderrPipe()
		if err1 != nil || err2 != nil || err3 != nil || cmd.Start() != nil {
			b.Fatal(err1, err2, err3)
		}
		id := core.NewID(core.PrefixProcess)
		if err := store.Commit(b.Context(), core.Batch{Owner: "o", Resource: id, Instance: store.Instance(), Create: true,
			Process: &core.ProcessRecord{Process: core.ProcessSnapshot{ID: id, Owner: "o", Status: core.ProcessDoneExited, CreatedAt: begin, FinishedAt: begin}},
			Events:  []core.Event{{SchemaVersion: 1, ID: core.NewEventID(), Resource: id, Seq: 1, Type: core.ProcessStarted, At: begin, Data: []byte("{}")}},
		}); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(begin)
		b.StopTimer()
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		_, _ = io.Copy(io.Discard, diag)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begin = time.Now()
		p, err := s.Start(b.Context(), startOf("/bin/true"))
		if err != nil {
			b.Fatal(err)
		}
		managed += time.Since(begin)
		b.StopTimer()
		waitEnd(b, s, store, p.ID)
		b.StartTimer()
	}
	n := float64(b.N)
	b.ReportMetric(bare.Seconds()*1e3/n, "bare-ms")
	b.ReportMetric(managed.Seconds()*1e3/n, "managed-ms")
	b.ReportMetric((managed-bare).Seconds()*1e3/n, "over-ms")
}

func openSQLite(t testing.TB) core.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
