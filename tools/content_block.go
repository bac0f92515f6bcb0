package tools

import "github.com/harness-mcp/harness-mcp/core"

// contentBlock is a part of a prompt that follows its text, as MCP writes it.
type contentBlock struct {
	Type     string `arg:"type,required" enum:"text|image"`
	Text     string `arg:"text"`
	Data     string `arg:"data" doc:"base64"`
	MIMEType string `arg:"mimeType" alias:"mime_type"`
}

// MarshalJSON makes blocks comparable in the canonical arguments.
func (b contentBlock) MarshalJSON() ([]byte, error) { return encode(b.block()), nil }

func (b contentBlock) block() core.ContentBlock {
	return core.ContentBlock{Type: b.Type, Text: b.Text, Data: b.Data, MIMEType: b.MIMEType}
}

func blocks(in []contentBlock) []core.ContentBlock {
	var out []core.ContentBlock
	for _, b := range in {
		out = append(out, b.block())
	}
	return out
}
