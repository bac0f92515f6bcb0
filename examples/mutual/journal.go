package main

import "github.com/harness-mcp/harness-mcp/examples/internal/harness"

// readBack shows what the journal has of the work, and that it is from's alone.
func (s *delegation) readBack() error {
	var sessions struct {
		Items []struct {
			ID       string `json:"session_id"`
			Provider string `json:"provider"`
		} `json:"items"`
	}
	if err := s.watch.Call(s.ctx, "list", harness.Args{"kind": "sessions"}, &sessions); err != nil {
		return err
	}
	s.say("Of the shared server's sessions %s sees %d, its own:", s.from.name, len(sessions.Items))
	for _, session := range sessions.Items {
		s.say("%s %s", session.ID, session.Provider)
		if err := s.journal(session.ID); err != nil {
			return err
		}
	}
	return nil
}

// journal prints what was accepted, asked, decided and said. There is more:
// every delta, every step of a tool.
func (s *delegation) journal(id string) error {
	var page struct {
		Events []struct {
			Seq  uint64 `json:"seq"`
			Type string `json:"type"`
			Data struct {
				Text   string `json:"text"`
				Action string `json:"action"`
				By     string `json:"by"`
				Client string `json:"client"`
			} `json:"data"`
		} `json:"events"`
		Cursor uint64 `json:"cursor"`
		More   bool   `json:"more"`
	}
	for page.More = true; page.More; {
		args := harness.Args{"id": id, "after": page.Cursor, "view": "events", "limit": 100}
		page.Events = nil
		if err := s.watch.Call(s.ctx, "replay", args, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			switch e.Type {
			case "session_started", "turn_accepted", "request_created", "turn_completed", "session_closed":
				s.say("%6d %s", e.Seq, e.Type)
			case "request_resolved":
				s.say("%6d %s: %s, by its %s %s", e.Seq, e.Type, e.Data.Action, e.Data.By, e.Data.Client)
			case "message":
				s.say("%6d %s: %s", e.Seq, e.Type, e.Data.Text)
			}
		}
	}
	return nil
}
