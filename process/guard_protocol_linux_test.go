package process

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOrderArrivesAsItWasSent(t *testing.T) {
	orders := map[string]order{
		"plain":      {path: "/bin/sh", dir: "/tmp", args: []string{"/bin/sh", "-c", "x y"}, env: []string{"A=1", "B="}},
		"empty":      {},
		"odd bytes":  {path: "/\xff", args: []string{"", "\n", "\xfe"}, env: []string{"X=\xff"}},
		"no args":    {path: "p", env: []string{"A=1"}},
		"no env":     {path: "p", args: []string{"a"}},
		"digit args": {path: "p", args: []string{"3", "0"}},
	}
	for name, o := range orders {
		b, err := o.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := readOrder(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(o, got, cmp.AllowUnexported(order{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := readOrder(bytes.NewReader(b[:len(b)-1])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: cut short: %v", name, err)
		}
	}
}

func TestReportArrivesAsItWasSent(t *testing.T) {
	want := report{repExited, 1<<63 + 5, 7}
	got, err := readReport(bytes.NewReader(want.encode()))
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08/a\x00/b\x000\x00"))
	f.Add([]byte("\x00\x00\x00\x0a/a\x00/b\x00-1\x00x"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := readOrder(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := o.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := readOrder(bytes.NewReader(again))
		if diff := cmp.Diff(o, back, cmp.AllowUnexported(order{}), cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}

func TestStatIsReadWhateverTheCommandIsCalled(t *testing.T) {
	tail := " S 7 42 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 1"
	for _, name := range []string{"sh", "a b", ") S 1 1 1", "((", "", "x\ny"} {
		got, ok := parseStat([]byte("123 (" + name + ")" + tail))
		want := proc{pid: 123, ppid: 7, pgrp: 42, state: 'S', start: 987654}
		if !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "1", "1 (", "1 )(", "(x) S 1", "1 (x) S 1 1", "x (x)" + tail} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("1 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0"))
	f.Fuzz(func(t *testing.T, b []byte) { parseStat(b) })
}

func TestDescendantsAreFoundParentsFirst(t *testing.T) {
	all := []proc{{pid: 5, ppid: 4}, {pid: 4, ppid: 2}, {pid: 2, ppid: 1}, {pid: 3, ppid: 1}, {pid: 9, ppid: 8}, {pid: 6, ppid: 3}, {pid: 7, ppid: 7}}
	ids := func(procs []proc) []int {
		var out []int
		for _, p := range procs {
			out = append(out, p.pid)
		}
		return out
	}
	if diff := cmp.Diff([]int{2, 3, 4, 6, 5}, ids(descendants(all, []int{1}, nil))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{2, 4, 5}, ids(descendants(all, []int{1}, map[int]bool{3: true}))); diff != "" {
		t.Error(diff)
	}
	if got := descendants(all, []int{7}, nil); len(got) > 1 { // a loop ends
		t.Errorf("%v", got)
	}
}
