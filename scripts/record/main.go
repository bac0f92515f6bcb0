// Command record passes JSON lines between a program and its client, and records both
// directions in a file:
//
//	record FILE PROGRAM [ARGUMENT...]
//
// FILE gets one line per message, {"dir": "->", "msg": ...} for messages of the
// client and "<-" for those of the program, in the order in which they passed. A
// line that is not JSON is kept as a string. It ends as the program ends, with
// its exit code. See CONTRIBUTING.md for how to make a test transcript of it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: record FILE PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := record(os.Args[1], os.Args[2], os.Args[3:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
	}
	os.Exit(code)
}

// record runs the program and returns its exit code.
func record(file, program string, args []string, in io.Reader, out io.Writer) (int, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1, err
	}
	defer f.Close()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	log := &transcript{w: f}
	go func() { // ends with the client or, at the latest, with this process
		log.pass("->", in, stdin)
		stdin.Close()
	}()
	log.pass("<-", stdout, out)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	return 0, errors.Join(err, log.err)
}

// transcript takes lines of both directions. A message is written down before
// it is passed on, so an answer never stands before its question.
type transcript struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (t *transcript) pass(dir string, from io.Reader, to io.Writer) {
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			t.note(dir, bytes.TrimRight(line, "\r\n"))
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *transcript) note(dir string, msg []byte) {
	if !json.Valid(msg) {
		msg, _ = json.Marshal(string(msg)) // a string always encodes
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := fmt.Fprintf(t.w, "{\"dir\":%q,\"msg\":%s}\n", dir, msg); err != nil {
		t.err = errors.Join(t.err, err)
	}
}
