package conntest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Line is one line of a recorded conversation with a real CLI. Dir is its
// direction: "->" from the client, "<-" from the CLI; an adapter's recordings may
// have further values.
type Line struct {
	Dir string          `json:"dir"`
	Msg json.RawMessage `json:"msg"`
}

// Recordings returns the files of an adapter's recordings, of which there must be
// some.
func Recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded conversations", err)
	}
	return files
}

// ReadRecording reads one of them.
func ReadRecording(t testing.TB, file string) []Line {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []Line
	for raw := range bytes.Lines(text) {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// Golden compares what becomes of every recording with the golden file beside it,
// which -update rewrites.
func Golden(t *testing.T, play func(t *testing.T, file string) string) {
	t.Helper()
	for _, file := range Recordings(t) {
		name := strings.TrimSuffix(file, ".jsonl")
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := play(t, file)
			if *update {
				if err := os.WriteFile(name+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
		})
	}
}

// compare reports the first line in which two texts differ.
func compare(t *testing.T, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		w, g := "(the end)", "(the end)"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			t.Errorf("line %d is\n\t%s\nwant\n\t%s\n(git diff shows all after a run with -update)", i+1, g, w)
			return
		}
	}
}
