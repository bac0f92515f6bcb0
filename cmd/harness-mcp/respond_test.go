package main_test

import (
	"strings"
	"testing"
	"time"
)

// asks starts a turn that asks and returns the request's id.
func (s *scripted) asks(prompt string) (request, turn string) {
	s.t.Helper()
	id := s.call("start_session", args{"provider": "demo", "cwd": s.t.TempDir()}).SessionID
	r := s.call("send_message", args{"session_id": id, "prompt": prompt, "wait_ms": 20000})
	if len(r.Pending) != 1 {
		s.t.Fatalf("%d requests are pending", len(r.Pending))
	}
	return r.Pending[0].RequestID, r.TurnID
}

func TestAPersonAnswersFromTheCommandLine(t *testing.T) {
	for name, flags := range map[string][]string{
		"a caller may answer too":  nil,
		"only a person may answer": {"--answer-by", "user"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startScripted(t, flags...)
			request, turn := s.asks("approve\nsay done")
			if out, err := s.command("respond", request, "answer", "--answer", "blue").CombinedOutput(); err == nil || !strings.Contains(string(out), "not offered") {
				t.Errorf("an action that is not offered: %v\n%s", err, out)
			}
			begin := time.Now()
			out, err := s.command("respond", request, "approve", "--reason", "looks fine").CombinedOutput()
			if err != nil || !strings.Contains(string(out), request+" is resolved: approve (once) by user") {
				t.Fatalf("respond: %v\n%s", err, out)
			}
			t.Logf("answered after %s", time.Since(begin))
			if r := s.call("await", args{"ids": []string{turn}, "wait_ms": 20000}); r.Outcome != "done" || len(r.Results) != 1 || r.Results[0].Status != "completed" {
				t.Errorf("await: %+v", r)
			}
			if out, err := s.command("respond", request, "deny").CombinedOutput(); err == nil || !strings.Contains(string(out), "resolved") {
				t.Errorf("a second answer: %v\n%s", err, out)
			}
		})
	}
}

func TestAnAnswerForADeadServerIsRefused(t *testing.T) {
	s := startScripted(t)
	request, _ := s.asks("approve\nsay done")
	if err := s.process().Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Closed()
	out, err := s.command("respond", request, "approve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has ended") || !strings.Contains(string(out), "resume") {
		t.Errorf("respond: %v\n%s", err, out)
	}
}
