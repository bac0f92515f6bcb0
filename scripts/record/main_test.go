package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be the program that is recorded: it answers
// every line with the line in a list, and ends with code 3.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "answer" {
		for line := range strings.Lines(os.Args[2]) {
			os.Stdout.WriteString("[" + strings.TrimSpace(line) + "]\n")
		}
		var all bytes.Buffer
		if _, err := all.ReadFrom(os.Stdin); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString(all.String())
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestBothSidesAreWrittenDownAndPassedOn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.jsonl")
	var out bytes.Buffer
	code, err := record(file, self, []string{"answer", "1"}, strings.NewReader("{\"a\": 1}\nplain \"text\""), &out)
	if code != 3 || err != nil {
		t.Errorf("code %d, error %v", code, err)
	}
	if want := "[1]\n{\"a\": 1}\nplain \"text\""; out.String() != want {
		t.Errorf("passed on %q, want %q", out.String(), want)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := string(got)
	for _, want := range []string{
		`{"dir":"<-","msg":[1]}` + "\n", `{"dir":"->","msg":{"a": 1}}` + "\n", `{"dir":"->","msg":"plain \"text\""}` + "\n",
		`{"dir":"<-","msg":"plain \"text\""}` + "\n",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, lines)
		}
	}
	if strings.Index(lines, `->","msg":{"a"`) > strings.Index(lines, `<-","msg":{"a"`) {
		t.Errorf("an answer stands before its question:\n%s", lines)
	}
}
