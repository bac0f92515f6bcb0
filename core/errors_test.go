package core

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestACauseIsSaidOnceAndWithoutItsCode(t *testing.T) {
	inner := Errorf(CodeNotFound, "the executable %q was not found", "codex")
	outer := Errorf(CodeProviderNotReady, "Codex cannot be used: %w", inner).WithHint("Install it.")
	if want := `Codex cannot be used: the executable "codex" was not found`; outer.Message != want {
		t.Errorf("message = %q, want %q", outer.Message, want)
	}
	if want := "provider_not_ready: " + outer.Message; outer.Error() != want {
		t.Errorf("error = %q, want %q", outer.Error(), want)
	}
	if !errors.Is(outer, &Error{Code: CodeNotFound}) {
		t.Error("the cause is lost")
	}
	hidden := &Error{Code: CodeInternal, Message: "the server met an unexpected error", Err: io.ErrUnexpectedEOF}
	if want := "internal: the server met an unexpected error: unexpected EOF"; hidden.Error() != want {
		t.Errorf("error = %q, want %q", hidden.Error(), want)
	}
}

func TestAnyErrorHasACode(t *testing.T) {
	for err, want := range map[error]Code{
		nil:                     "",
		io.EOF:                  CodeInternal,
		Errorf(CodeScope, "no"): CodeScope,
		fmt.Errorf("closing: %w", Errorf(CodeNotFound, "no")): CodeNotFound,
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("code of %v = %q, want %q", err, got, want)
		}
	}
}
