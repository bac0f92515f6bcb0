package claude

import (
	"regexp"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// checkInput returns an error for a prompt that the CLI cannot take.
func checkInput(in core.TurnInput) *core.Error {
	if len(in.ProviderOptions) > 0 {
		return core.Errorf(core.CodeOption, "claude has no provider options per turn").WithHint("Give them to start_session.")
	}
	for _, b := range in.Content {
		if b.Type != wire.Text && b.Type != wire.Image {
			return core.Errorf(core.CodeCapability, "claude takes no content of type %q", b.Type)
		}
	}
	return nil
}

// prompt returns a prompt as the CLI takes it. An attached file is named in the
// text: the agent reads it itself, pictures too.
func (t *translator) prompt(in core.TurnInput, uuid string) wire.Prompt {
	m := wire.Prompt{Type: wire.User, UUID: uuid, ClientComposed: true}
	m.Message.Role = "user"
	text := t.escapeCommand(in.Prompt)
	var names strings.Builder
	for _, path := range in.Attachments {
		names.WriteString("\n\nAttached file: " + path)
	}
	if len(in.Content) == 0 {
		m.Message.Content = text + names.String()
		return m
	}
	blocks := []wire.Block{{Type: wire.Text, Text: text + names.String()}}
	for _, b := range in.Content {
		if b.Type == wire.Image {
			blocks = append(blocks, wire.Block{Type: wire.Image, Source: &wire.ImageSource{Type: "base64", MediaType: b.MIMEType, Data: b.Data}})
			continue
		}
		blocks = append(blocks, wire.Block{Type: wire.Text, Text: t.escapeCommand(b.Text)})
	}
	m.Message.Content = blocks
	return m
}

// mention is an @ before a path, as old versions look for it.
var mention = regexp.MustCompile(`(^|[\s"'(\[])@("[^"]+"|[^\s"]+)`)

// escapeCommand keeps a text from being a command. Versions that do not know
// client_composed take a leading "/" for one, and read files named behind an @.
func (t *translator) escapeCommand(text string) string {
	if t.literal {
		return text
	}
	text = mention.ReplaceAllStringFunc(text, func(m string) string {
		at := strings.IndexByte(m, '@')
		path := strings.Trim(m[at+1:], `"`)
		path, _, _ = strings.Cut(path, "#")
		if !t.set.exists(path) {
			return m
		}
		return m[:at+1] + wordJoiner + m[at+1:]
	})
	if strings.HasPrefix(text, "/") {
		text = "\n" + text
	}
	return text
}

// wordJoiner is invisible.
const wordJoiner = "\u2060"
