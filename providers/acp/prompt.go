package acp

import (
	"mime"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// wordJoiner is invisible, and keeps a text from being a command.
const wordJoiner = "\u2060"

// escapeCommand returns the text in a form that the agent does not take for a
// command of its own.
func escapeCommand(text string) string {
	if head := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(head, "/") || strings.HasPrefix(head, "@") ||
		strings.HasPrefix(head, "!") || strings.HasPrefix(head, "$") {
		return wordJoiner + text
	}
	return text
}

// blocks returns a prompt as the agent takes it. An attached file is a link: the
// agent reads it itself.
func blocks(in core.TurnInput, can wire.PromptCapabilities) ([]wire.Block, *core.Error) {
	if len(in.ProviderOptions) > 0 {
		return nil, core.Errorf(core.CodeOption, "ACP agents have no provider options per turn")
	}
	if len(in.OutputSchema) > 0 {
		return nil, core.Errorf(core.CodeCapability, "ACP agents have no structured output")
	}
	var list []wire.Block
	if in.Prompt != "" {
		list = append(list, wire.Block{Type: wire.Plain, Text: escapeCommand(in.Prompt)})
	}
	for _, b := range in.Content {
		switch {
		case b.Type == wire.Plain:
			list = append(list, wire.Block{Type: wire.Plain, Text: escapeCommand(b.Text)})
		case b.Type == wire.Image && can.Image:
			list = append(list, wire.Block{Type: wire.Image, Data: b.Data, MIMEType: b.MIMEType})
		case b.Type == wire.Image:
			return nil, core.Errorf(core.CodeCapability, "this agent takes no images").
				WithHint("Name a file in the prompt instead.")
		default:
			return nil, core.Errorf(core.CodeCapability, "ACP agents take no content of type %q", b.Type)
		}
	}
	for _, path := range in.Attachments {
		list = append(list, wire.Block{
			Type: wire.Link, Name: filepath.Base(path), MIMEType: mime.TypeByExtension(filepath.Ext(path)),
			URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(),
		})
	}
	return list, nil
}
