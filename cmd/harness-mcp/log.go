package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

type logCmd struct {
	ID     string `arg:"" help:"A session, turn or process."`
	Follow bool   `short:"f" help:"Go on until it has ended."`
	JSON   bool   `name:"json" help:"Print whole events, one JSON object a line."`
}

// Run prints a journal, live or ended, while a server runs or not. It reads as
// the file's owner: every owner's resources.
func (l logCmd) Run(ctx context.Context, c *Common, std stdio) (err error) {
	h, err := newReadOnlyApp(ctx, c, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	cl, end, err := h.local(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if _, err := h.harness.Get(ctx, core.AllOwners, l.ID); err != nil {
		return err
	}
	view := "summary"
	if l.JSON {
		view = "events"
	}
	for after := uint64(0); ; {
		more := true
		for more {
			r, err := cl.call(ctx, "replay", args{"id": l.ID, "after": after, "view": view, "limit": 1000, "max_bytes": 1 << 20})
			if err != nil {
				return err
			}
			if after, more, err = l.print(std.out, r, after); err != nil {
				return err
			}
		}
		if !l.Follow {
			return nil
		}
		res, err := h.harness.Get(ctx, core.AllOwners, l.ID)
		if err != nil {
			return err
		}
		if ended(res) && !h.more(ctx, l.ID, after) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// ended means that nothing more can come, short of a resume.
func ended(r core.Resource) bool {
	if r.Kind == core.KindSession {
		return !r.Session.Session.Status.Live()
	}
	return r.Done()
}

// more reports whether something came between the last page and the end.
func (h *app) more(ctx context.Context, id string, after uint64) bool {
	p, err := h.harness.Replay(ctx, core.AllOwners, core.ReplayRequest{ID: id, After: after, Limit: 1})
	return err == nil && len(p.Events) > 0
}

// print shows a page and returns the cursor behind it. What agents and processes
// wrote may hold terminal control sequences: those are printed escaped.
func (l logCmd) print(w io.Writer, r reply, after uint64) (uint64, bool, error) {
	var page struct {
		Cursor uint64            `json:"cursor"`
		More   bool              `json:"more"`
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(r.Structured, &page); err != nil {
		return after, false, fmt.Errorf("reading a page: %w", err)
	}
	if l.JSON {
		for _, e := range page.Events {
			if _, err := fmt.Fprintln(w, redact.Plain(string(e))); err != nil {
				return after, false, err
			}
		}
		return max(after, page.Cursor), page.More, nil
	}
	// The text half: a head for callers, an empty line, the steps.
	_, steps, _ := strings.Cut(r.text(), "\n\n")
	if steps = strings.TrimRight(steps, "\n"); steps != "" {
		if _, err := fmt.Fprintln(w, redact.Plain(steps)); err != nil {
			return after, false, err
		}
	}
	return max(after, page.Cursor), page.More, nil
}
