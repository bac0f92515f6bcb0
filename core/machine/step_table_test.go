package machine

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var updateGolden = flag.Bool("update", false, "write testdata/*.golden")

// tableColumn is a state of the table, made by real inputs.
type tableColumn struct {
	name  string
	title string
	build func(*rig) *rig
}

var tableColumns = []tableColumn{
	{"O", "opening", (*rig).opening},
	{"I", "idle", (*rig).idle},
	{"S", "starting", (*rig).starting},
	{"R", "running", (*rig).running},
	{"A", "awaiting_input", (*rig).awaiting},
	{"K", "awaiting_input, an answer on its way", (*rig).claimed},
	{"Cs", "cancelling, not accepted yet", (*rig).cancellingStart},
	{"C", "cancelling", (*rig).cancelling},
	{"Ck", "cancelling, an answer on its way", (*rig).cancellingClaimed},
	{"X", "closing, turn not ended yet", (*rig).closing},
	{"Xh", "closing, hanging up", (*rig).hangingUp},
	{"P", "running a provider's turn", (*rig).providerTurn},
	{"W", "starting behind a provider's turn", (*rig).waiting},
	{"U", "unavailable", (*rig).unavailable},
	{"E", "closed", (*rig).closed},
	{"Ef", "failed", (*rig).failed},
	{"Ek", "killed", (*rig).killed},
}

// alike returns which column a column does the same as, unless it has a cell of
// its own.
var alike = map[string]string{"K": "A", "Ck": "C", "Ef": "E", "Ek": "E"}

// tableRow is an input of the table; cells maps columns, space-separated, to what
// is to happen.
type tableRow struct {
	name  string
	input func(*rig) Input
	cells map[string]string
	with  []string // queued turns, where the state has a turn
}

// line returns what a cell does: the status it leads to ("=" when the State is
// equal to what it was), then the effects.
func (r *tableRow) line(t testing.TB, c tableColumn) string {
	g := c.build(newRig(t))
	if g.s.Active() != nil && g.s.Closing == nil {
		g.with(r.with...)
	}
	before, old := g.s, frozenState(t, g.s)
	in := r.input(g)
	out := g.in(in)
	if frozenState(t, before) != old {
		t.Errorf("%s in %s changed the old State in place", r.name, c.name)
	}
	status := "="
	if !reflect.DeepEqual(before, g.s) {
		status = string(g.s.Status())
	}
	if status == "=" && len(out) == 0 {
		return "nothing"
	}
	return status + ": " + describeEffects(out)
}

func TestStateTable(t *testing.T) {
	for _, r := range stateTable() {
		want := map[string]string{}
		for names, cell := range r.cells {
			for _, n := range strings.Fields(names) {
				if _, twice := want[n]; twice {
					t.Errorf("%s has %s twice", r.name, n)
				}
				want[n] = cell
			}
		}
		for _, c := range tableColumns {
			w, ok := want[c.name]
			if !ok {
				w, ok = want[alike[c.name]]
			}
			if !ok {
				t.Errorf("%s has no cell for %s; it gives %q", r.name, c.name, r.line(t, c))
				continue
			}
			if got := r.line(t, c); got != w {
				t.Errorf("%s in %s\n got %s\nwant %s", r.name, c.name, got, w)
			}
		}
	}
}

// Commands that are refused must leave the State equal: a refusal is a reply
// and nothing else.
func TestARefusedCommandLeavesTheStateEqual(t *testing.T) {
	for _, r := range commandRows() {
		for _, c := range tableColumns {
			line := r.line(t, c)
			_, effects, _ := strings.Cut(line, ": ")
			code := strings.TrimPrefix(effects, "reply ")
			refused := strings.HasPrefix(effects, "reply ") && !strings.Contains(effects, ";") && code != "ok"
			if refused && !strings.HasPrefix(line, "=") {
				t.Errorf("%s in %s: %s", r.name, c.name, line)
			}
		}
	}
}

func TestTheRenderedTableIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString("The session machine: what each input does in each state.\n")
	b.WriteString("A line is: state -> status after it (\"=\" for no change at all): events; replies and effects.\n")
	b.WriteString("States that do the same share a line.\n\n")
	for _, c := range tableColumns {
		fmt.Fprintf(&b, "%-3s %s\n", c.name, c.title)
	}
	for _, r := range stateTable() {
		fmt.Fprintf(&b, "\n%s\n", r.name)
		var order []string
		states := map[string][]string{}
		for _, c := range tableColumns {
			l := r.line(t, c)
			if states[l] == nil {
				order = append(order, l)
			}
			states[l] = append(states[l], c.name)
		}
		for _, l := range order {
			fmt.Fprintf(&b, "  %s -> %s\n", strings.Join(states[l], " "), l)
		}
	}
	path := filepath.Join("testdata", "table.golden")
	if *updateGolden {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test ./core/machine -run RenderedTable -update)", err)
	}
	if string(want) != b.String() {
		t.Errorf("%s is out of date: run go test ./core/machine -run RenderedTable -update", path)
	}
}
