package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/harness-mcp/harness-mcp/core"
)

// orphan starts a process that hangs, with a marker or none, and reaps it when
// it ends. The test's end kills it.
func orphan(t *testing.T, marker string) int {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = []string{"PATH=/bin"}
	if marker != "" {
		cmd.Env = append(cmd.Env, MarkerVar+"="+marker)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return cmd.Process.Pid
}

// rowOf is a true row of a running process.
func rowOf(instance string, pid int) core.Child {
	return core.Child{Instance: instance, PID: pid, StartTime: startTimeOf(pid), BootID: bootID()}
}

// deadOne is a dead instance that no other test run knows.
var deadOne = core.NewID("ins_")

// reapResult is what a reaper says on its stdout.
type reapResult struct {
	Report Report
	Rows   []core.Child
}

// reapElsewhere runs Reap in another process, since our descendants are ours
// and so are its ancestors its.
func reapElsewhere(t *testing.T, rows []core.Child) reapResult {
	t.Helper()
	in, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVar+"=reaper")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got reapResult
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func init() { helpers["reaper"] = reaper }

// reaper is the next boot.
func reaper([]string) {
	log := &childLog{}
	must(json.NewDecoder(os.Stdin).Decode(&log.rows))
	report, err := Reap(context.Background(), log, instances{self: "self", alive: []string{"live"}}, nil)
	must(err)
	must(json.NewEncoder(os.Stdout).Encode(reapResult{report, log.rows}))
}

// searchIn makes a search without a log.
func searchIn(dead []string, alive []string, rows []core.Child) *search {
	s := &search{
		dead:  map[string]bool{},
		alive: func(i string) bool { return slices.Contains(alive, i) },
		rows:  rows, found: map[int]Found{},
	}
	for _, d := range dead {
		s.dead[d] = true
	}
	return s
}

func TestChildrenWithoutARowAreFoundByTheirInstances(t *testing.T) {
	// As when server and guard are killed between the start and the row.
	dead := core.NewID("ins_")
	pid := orphan(t, segment{dead, "prc_1"}.String())
	got := reapElsewhere(t, []core.Child{{Instance: dead, BootID: bootID()}})
	if len(got.Report.Ended) != 1 || got.Report.Ended[0].PID != pid || got.Report.Rows != 1 {
		t.Errorf("%+v", got)
	}
}

func TestInnermostKnownInstanceDecidesWhoseAProcessIs(t *testing.T) {
	s := searchIn([]string{"dead"}, []string{"live"}, nil)
	tests := map[string]bool{
		"":                       false,
		"dead:ses_1":             true,
		"live:ses_1":             false,
		"other:ses_1":            false,
		"deadly:ses_1":           false,
		"other:dead":             false,
		"dead:ses_1/live:ses_2":  false, // a live server in the tree of a dead one ends its own
		"live:ses_1/dead:ses_2":  true,  // and a dead one in the tree of a live one cannot
		"dead:ses_1/other:ses_2": true,  // another database's, in a tree that is ours
		"other:ses_1/dead:prc_2": true,
		"dead":                   true,
		"///":                    false,
	}
	for marker, want := range tests {
		if got := s.orphan(marker); got != want {
			t.Errorf("%q: %v", marker, got)
		}
	}
}

func TestRowMeansOneProcessAndNoOtherWithItsPID(t *testing.T) {
	pid := orphan(t, "")
	p, ok := readProc(pid)
	if !ok {
		t.Fatal("no process")
	}
	row := rowOf("dead", pid)
	tests := map[string]struct {
		change func(*core.Child)
		want   bool
	}{
		"the same":       {func(*core.Child) {}, true},
		"other start":    {func(c *core.Child) { c.StartTime++ }, false},
		"no start":       {func(c *core.Child) { c.StartTime = 0 }, false},
		"other boot":     {func(c *core.Child) { c.BootID = "another" }, false},
		"boot not known": {func(c *core.Child) { c.BootID = "" }, false},
		"other pid":      {func(c *core.Child) { c.PID++ }, false},
	}
	for name, test := range tests {
		changed := row
		test.change(&changed)
		if got := searchIn([]string{"dead"}, nil, []core.Child{changed}).inRow(p); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReapNeverEndsItsOwnFamily(t *testing.T) {
	// Our own child carries the marker of a dead instance, and has a row too.
	pid := orphan(t, deadOne+":ses_1")
	log := &childLog{rows: []core.Child{rowOf(deadOne, pid)}}
	report, err := Reap(t.Context(), log, instances{self: "self"}, nil)
	if err != nil || len(report.Ended) != 0 || !running(pid) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestReapEndsWhatADeadServerLeft lets a process of its own, the reaper, meet
// processes that are none of its family.
func TestReapEndsWhatADeadServerLeft(t *testing.T) {
	marked := orphan(t, deadOne+":ses_1")
	nested := orphan(t, "outer:ses_0/"+deadOne+":ses_1/other:ses_2")
	byRow := orphan(t, "")
	stale := orphan(t, "")         // its row has another start time
	living := orphan(t, "live:s")  // of a server that runs
	foreign := orphan(t, "what:s") // of another database
	twin := orphan(t, "")          // looks like byRow, and has no row
	staleRow := rowOf(deadOne, stale)
	staleRow.StartTime--
	rows := []core.Child{
		{Instance: deadOne, PID: 1 << 30, StartTime: 1, BootID: "earlier"},
		rowOf(deadOne, byRow), staleRow, rowOf("live", living),
	}
	got := reapElsewhere(t, rows)

	want := reapResult{
		Report: Report{Instances: []string{deadOne}, Rows: 3, Ended: []Found{
			{PID: marked, Marker: deadOne + ":ses_1"},
			{PID: nested, Marker: "outer:ses_0/" + deadOne + ":ses_1/other:ses_2"},
			{PID: byRow, ByRow: true},
		}},
		Rows: []core.Child{rowOf("live", living)},
	}
	byPID := cmpopts.SortSlices(func(a, b Found) bool { return a.PID < b.PID })
	if diff := cmp.Diff(want, got, byPID, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if !noneRunning([]int{marked, nested, byRow}) {
		t.Error("an orphan is left")
	}
	for name, pid := range map[string]int{"stale": stale, "living": living, "foreign": foreign, "twin": twin} {
		if !running(pid) {
			t.Errorf("%s was ended", name)
		}
	}
}

func TestReapEndsDescendantsOfAnOrphan(t *testing.T) {
	c := start(t, Options{Guard: GuardOff, Instance: deadOne}, helper("family", "bare"))
	tree := append(pids(t, lines(t, c.Stdout())), c.PID())
	reapElsewhere(t, []core.Child{{Instance: deadOne, PID: 1 << 30}})
	if !noneRunning(tree) {
		t.Errorf("one of %v is left", tree)
	}
	<-c.Done()
}

func TestReapWithoutTheDeadTouchesNothing(t *testing.T) {
	log := &childLog{rows: []core.Child{{Instance: "self", PID: 1 << 30}, {Instance: "live", PID: 1 << 30}}}
	report, err := Reap(t.Context(), log, instances{self: "self", alive: []string{"live"}}, nil)
	if err != nil || len(log.rows) != 2 {
		t.Errorf("%+v, %v, rows %+v", report, err, log.rows)
	}
	if diff := cmp.Diff(Report{}, report); diff != "" {
		t.Error(diff)
	}
}

func TestReapReportsALogThatCannotBeRead(t *testing.T) {
	_, err := Reap(t.Context(), brokenLog{}, instances{}, nil)
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenLog struct{}

func (brokenLog) Children(context.Context, string) ([]core.Child, error) { return nil, errBroken }
func (brokenLog) PutChild(context.Context, core.Child) error             { return errBroken }
func (brokenLog) DeleteChild(context.Context, string, int) error         { return errBroken }
