package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/harness-mcp/harness-mcp/core"
)

type listCmd struct {
	Kind  string `arg:"" optional:"" enum:",sessions,turns,requests,processes" default:"" help:"sessions, turns, requests or processes, ended ones too. Without it: what is live now."`
	Limit int    `default:"50" placeholder:"N" help:"Rows of a kind at most, newest first (${default})."`
}

// kinds lists the kinds of resources, and what their ids are for.
var kinds = []struct {
	word string
	kind core.ResourceKind
	next string
}{
	{"sessions", core.KindSession, "Read one: harness-mcp log ID"},
	{"turns", core.KindTurn, "Read one: harness-mcp log ID"},
	{"requests", core.KindRequest, "Answer a pending one: harness-mcp respond ID approve (or deny, answer, cancel)"},
	{"processes", core.KindProcess, "Read one: harness-mcp log ID"},
}

// Run lists ids for log and respond. It reads as the file's owner: every owner's
// resources.
func (l listCmd) Run(ctx context.Context, c *Common, std stdio) (err error) {
	if l.Limit < 1 {
		return usageErrorf(tryHelp, "--limit: %d is less than 1", l.Limit)
	}
	h, err := newReadOnlyApp(ctx, c, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	found := false
	for _, k := range kinds {
		if l.Kind != k.word && (l.Kind != "" || k.kind == core.KindTurn) {
			continue
		}
		r := core.ListRequest{Kind: k.kind, Limit: l.Limit}
		if l.Kind == "" {
			live := true
			r.Live = &live
		}
		page, err := h.harness.List(ctx, core.AllOwners, r)
		if err != nil {
			return err
		}
		if len(page.Items) == 0 {
			continue
		}
		if found {
			fmt.Fprintln(std.out)
		}
		found = true
		if err := printRows(std.out, k.word, page); err != nil {
			return err
		}
		fmt.Fprintln(std.out, k.next)
	}
	switch {
	case found:
	case l.Kind == "":
		fmt.Fprintln(std.out, "Nothing is live. harness-mcp list sessions shows what has ended.")
	default:
		fmt.Fprintf(std.out, "There are no %s in %s.\n", l.Kind, c.DB)
	}
	return nil
}

func printRows(w io.Writer, word string, page core.ListResult) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(word)+"\tSTATUS\tAT\tABOUT")
	for _, r := range page.Items {
		id, status, at, about := rowOf(r)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", id, status, at.Local().Format(time.DateTime), oneLine(about))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if page.NextPage != "" {
		fmt.Fprintln(w, "There are more: --limit N.")
	}
	return nil
}

// rowOf returns a resource as a row of a table.
func rowOf(r core.Resource) (id, status string, at time.Time, about string) {
	switch r.Kind {
	case core.KindSession:
		s := r.Session.Session
		return s.ID, string(s.Status), s.UpdatedAt, s.Provider + " in " + s.CWD + " " + s.Title
	case core.KindTurn:
		t := r.Turn
		return t.ID, string(t.Status), t.AcceptedAt, t.SessionID + ": " + t.PromptPreview
	case core.KindRequest:
		q := r.Request
		return q.ID, string(q.Status), q.CreatedAt, q.SessionID + ": " + string(q.Kind) + ": " + q.Prompt
	}
	p := r.Process
	return p.ID, string(p.Status), p.CreatedAt, p.Executable + " " + strings.Join(p.Argv, " ")
}

// oneLine returns text of an agent as one line of at most maxRowText characters,
// without control characters.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if r := []rune(s); len(r) > maxRowText {
		return string(r[:maxRowText]) + "..."
	}
	return s
}
