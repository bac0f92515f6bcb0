package pi

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// status finds the HTTP status with which Pi begins the message of a model
// provider's refusal.
var status = regexp.MustCompile(`^(\d{3})\b`)

// signIn are words of Pi's about a credential that is missing or bad.
var signIn = []string{"No API key found", "Authentication failed", "No model selected", "No models available"}

// errorCode returns the code of Turn.Error for a message of Pi's.
func errorCode(message string) core.Code {
	if m := status.FindStringSubmatch(message); m != nil {
		switch code, _ := strconv.Atoi(m[1]); code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return core.TurnAuthRequired
		case http.StatusTooManyRequests:
			return core.TurnRateLimited
		}
	}
	for _, words := range signIn {
		if strings.Contains(message, words) {
			return core.TurnAuthRequired
		}
	}
	return core.TurnProviderError
}

// turnError returns why a turn failed, in Pi's words.
func turnError(message string) *core.TurnError {
	return &core.TurnError{Code: errorCode(message), Message: cmp.Or(message, "Pi gave no reason.")}
}
