package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// clientAnswer is the answer to a clientRequest: a result, or an error for the
// agent, and what is to be reported of it.
type clientAnswer struct {
	result  any
	code    int
	why     string
	written *written
}

// written is a file that was written for an agent.
type written struct {
	path   string
	before *string // nil: it was not there
	after  string
}

// file serves a request for a file. It never waits for anything but the disk.
func (g pathGuard) file(r clientRequest) clientAnswer {
	if r.method == wire.ReadTextFile {
		return g.read(r.params)
	}
	return g.write(r.params)
}

func (g pathGuard) read(params json.RawMessage) clientAnswer {
	var p wire.ReadParams
	if json.Unmarshal(params, &p) != nil {
		return failed(errors.New("the parameters cannot be read"), wire.InvalidParams)
	}
	var text string
	err := g.in(p.Path, func(root *os.Root, rel string) (err error) {
		text, err = readText(root, rel)
		return err
	})
	if err != nil {
		return failed(err, 0)
	}
	return clientAnswer{result: wire.ReadResult{Content: window(text, p.Line, p.Limit)}}
}

// readText reads a regular file.
func readText(root *os.Root, rel string) (string, error) {
	info, err := root.Stat(rel) // before it is opened: opening a pipe would wait
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	case info.Size() > maxFile:
		return "", fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	file, err := root.Open(rel)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return "", err
	}
	if !utf8.Valid(raw) {
		return "", errors.New("it is no text in UTF-8")
	}
	return string(raw), nil
}

// window returns limit lines from line on, which counts from 1.
func window(text string, line, limit *int) string {
	if line == nil && limit == nil {
		return text
	}
	list := textdiff.Lines(text)
	from := 0
	if line != nil {
		from = min(max(*line-1, 0), len(list))
	}
	to := len(list)
	if limit != nil {
		to = min(from+max(*limit, 0), to)
	}
	return strings.Join(list[from:to], "")
}

func (g pathGuard) write(params json.RawMessage) clientAnswer {
	var p wire.WriteParams
	if json.Unmarshal(params, &p) != nil {
		return failed(errors.New("the parameters cannot be read"), wire.InvalidParams)
	}
	if len(p.Content) > maxFile {
		return failed(fmt.Errorf("the content has %d bytes, more than %d", len(p.Content), maxFile), wire.InvalidParams)
	}
	w := &written{path: p.Path, after: p.Content}
	err := g.in(p.Path, func(root *os.Root, rel string) error {
		before, err := readText(root, rel)
		switch {
		case err == nil:
			w.before = &before
		case errors.Is(err, fs.ErrNotExist):
			if dir := filepath.Dir(rel); dir != "." {
				if err := root.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
		default:
			return err
		}
		file, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = io.WriteString(file, p.Content)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return failed(err, 0)
	}
	return clientAnswer{result: struct{}{}, written: w}
}

// failed is an error as the agent should read it.
func failed(err error, code int) clientAnswer {
	switch {
	case code != 0:
	case errors.Is(err, fs.ErrNotExist):
		code = wire.ResourceNotFound
	case errors.Is(err, errOutside):
		code = wire.InvalidParams
	default:
		code = jsonrpc.CodeInternal
	}
	return clientAnswer{code: code, why: err.Error()}
}

// answerClient answers a request of the agent to its client and reports what it
// changed.
func (t *translator) answerClient(id json.RawMessage, a clientAnswer) {
	if a.why != "" {
		t.Refuse(id, a.code, a.why)
		return
	}
	t.Reply(id, a.result, nil)
	if a.written == nil {
		return
	}
	e := edit(a.written.path, a.written.before, a.written.after)
	if u := t.turn; u != nil {
		u.written[e.Path] = true
		u.edits = append(u.edits, e)
	}
	t.content(core.FileChange{Changes: []core.FileEdit{e}}, nil)
}
