package acp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// details are the places where agents put the text of an error.
type details struct {
	Message string `json:"message"`
	Details string `json:"details"`
}

// errorText returns the text of an agent's error. "Internal error" alone is no
// explanation, so its data is searched.
func errorText(e *jsonrpc.Error) string {
	var d details
	text := strings.TrimSpace(e.Message)
	if json.Unmarshal(e.Data, &d) != nil {
		var s string
		if json.Unmarshal(e.Data, &s) == nil {
			d.Details = s
		}
	}
	for _, more := range []string{d.Message, d.Details} {
		if more = strings.TrimSpace(more); more != "" && !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	if text == "" {
		return "the agent gave no reason"
	}
	return text
}

// errorCode returns the code of Turn.Error. Gemini's codes are HTTP's; others put
// the status at the head of the text.
func errorCode(code int, text string) core.Code {
	switch code {
	case wire.AuthRequired, http.StatusUnauthorized:
		return core.TurnAuthRequired
	case http.StatusTooManyRequests:
		return core.TurnRateLimited
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :,()", r) }) {
		switch word {
		case "401":
			return core.TurnAuthRequired
		case "429":
			return core.TurnRateLimited
		}
	}
	return core.TurnProviderError
}

// turnError returns why a turn failed, with the provider's own text.
func turnError(e *jsonrpc.Error) *core.TurnError {
	own, err := json.Marshal(e)
	if err != nil { // data came out of a valid frame
		own = nil
	}
	text := errorText(e)
	return &core.TurnError{Code: errorCode(e.Code, text), Message: text, Provider: own}
}

// rejection turns an error response into that of an op; nil stays nil.
func rejection(e *jsonrpc.Error) *core.Error {
	if e == nil {
		return nil
	}
	return core.Errorf(core.TurnRejected, "the agent refused it: %s", errorText(e))
}
