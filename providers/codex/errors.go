package codex

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
)

// missingKey begins Codex's message about a model provider whose key is not in
// the environment; it has no error code of its own.
const missingKey = "Missing environment variable"

// refusedKey begins the message of older versions about a key that the model
// provider refused, where their error code is "other".
const refusedKey = "unexpected status 401"

// errorInfo reads codexErrorInfo, which is a code, or an object with the code
// as its only key and an HTTP status in it.
func errorInfo(raw json.RawMessage) (word string, status int) {
	if json.Unmarshal(raw, &word) == nil {
		return word, 0
	}
	var object map[string]struct {
		HTTPStatusCode int `json:"httpStatusCode"`
	}
	if json.Unmarshal(raw, &object) == nil {
		for word, detail := range object {
			return word, detail.HTTPStatusCode
		}
	}
	return "", 0
}

// errorCode returns the code of Turn.Error for an error of Codex's.
func errorCode(e wire.TurnError) core.Code {
	word, status := errorInfo(e.CodexErrorInfo)
	switch {
	case word == "unauthorized", status == http.StatusUnauthorized, strings.HasPrefix(e.Message, missingKey),
		strings.HasPrefix(e.Message, refusedKey):
		return core.TurnAuthRequired
	case word == "rateLimitExceeded", word == "usageLimitExceeded", status == http.StatusTooManyRequests:
		return core.TurnRateLimited
	}
	return core.TurnProviderError
}

// turnError returns why a turn failed, with the provider's own text.
func turnError(e *wire.TurnError) *core.TurnError {
	if e == nil {
		return &core.TurnError{Code: core.TurnProviderError, Message: "Codex gave no reason."}
	}
	own, err := json.Marshal(e)
	if err != nil { // codexErrorInfo came out of a valid frame
		own = nil
	}
	return &core.TurnError{Code: errorCode(*e), Message: e.Message, Provider: own}
}

// errorWord returns the code of a provider_error: Codex's own.
func errorWord(e wire.TurnError) string {
	word, _ := errorInfo(e.CodexErrorInfo)
	return word
}
