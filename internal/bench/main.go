// Command bench measures the journal against the goals that the project set
// itself, and prints the table of docs/performance.md. Each figure is a ratio
// to a floor, or to a reference, that is measured in the same run, round by
// round: absolute times say more about the machine than about the program.
//
// It is a module of its own because its reference for reading, the SQLite
// binding mattn/go-sqlite3 through database/sql, needs cgo. The reference runs
// in a process of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

var (
	rounds       = flag.Int("rounds", 7, "rounds of which the median is taken")
	only         = flag.String("only", "", "run only the measurements whose name contains this")
	onlySessions = flag.Int("sessions", 0, "run only the measurements with this many sessions")
	durability   = flag.String("durability", sqlitestore.Normal, "of the journal: normal or full")
	verbose      = flag.Bool("v", false, "say on stderr what each round took")
	events       = flag.Int("events", 1_000_000, "events in the large journal")
	paced        = flag.Duration("paced", 5*time.Second, "how long paced sessions write")
	cpu          = flag.String("cpuprofile", "", "write a profile of the processor's time to this file")
	mem          = flag.String("memprofile", "", "write a profile of the memory of the stack, or of idle sessions, to this file")
	root         = flag.String("root", ".", "the project's directory, for recorded transcripts")
)

// row is a line of the table.
type row struct{ what, got, goal string }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reference" {
		if err := reference(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if *mem != "" {
		runtime.MemProfileRate = 4 << 10
	}
	if *cpu != "" {
		f, err := os.Create(*cpu)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	dir, err := os.MkdirTemp("", "harness-mcp-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.RemoveAll(dir)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	fmt.Println("| what | measured | goal |")
	fmt.Println("|---|---|---|")
	for _, m := range []struct {
		name string
		f    func(ctx context.Context, dir string) ([]row, error)
	}{
		{"append", appending},
		{"stack", stack},
		{"paced", pacing},
		{"large", large},
		{"disk", disk},
		{"idle", idle},
		{"recovery", recovery},
	} {
		if !strings.Contains(m.name, *only) {
			continue
		}
		sub, err := os.MkdirTemp(dir, m.name+"-")
		if err != nil {
			return err
		}
		rows, err := m.f(ctx, sub)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, r := range rows {
			fmt.Printf("| %s | %s | %s |\n", r.what, r.got, r.goal)
		}
		if err := os.RemoveAll(sub); err != nil {
			return err
		}
	}
	return nil
}

// details says what a round took, if that is wanted.
func details(format string, args ...any) {
	if *verbose {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// per is a duration's part for one of n, in microseconds.
func per(d time.Duration, n int) float64 { return float64(d) / 1e3 / float64(n) }

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0 // never happens with this argument
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// heapProfile writes the profile of the memory, if that is wanted.
func heapProfile() error {
	if *mem == "" {
		return nil
	}
	f, err := os.Create(*mem)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

func median[T ~int64 | ~float64](v []T) T {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// spread shows a median and what it lies between.
func spread(v []float64) string {
	v = slices.Sorted(slices.Values(v))
	return fmt.Sprintf("%.2f (%.2f to %.2f)", v[len(v)/2], v[0], v[len(v)-1])
}

func quantile(v []time.Duration, q float64) time.Duration {
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
