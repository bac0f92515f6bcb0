package link

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

// probed is a runner of one fake that plays a part.
type probed struct {
	*clitest.Child
	part func(*clitest.Child)
}

func (p probed) Start(context.Context, process.Spec) (process.Child, error) {
	go p.part(p.Child)
	return p.Child, nil
}

func TestRunReturnsWhatACommandWroteAndHowItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := Run(t.Context(), probed{clitest.NewChild(), func(f *clitest.Child) {
			_, _ = io.WriteString(f.ErrOut, "a warning")
			_, _ = io.WriteString(f.Out, "1.2.3"+strings.Repeat(" ", 2*maxOutput))
			f.End(process.Exit{Code: 3})
		}}, process.Spec{})
		if err != nil || !strings.HasPrefix(out.Stdout, "1.2.3 ") || len(out.Stdout) != maxOutput || out.Stderr != "a warning" || out.Exit.Code != 3 {
			t.Errorf("%d bytes, %q, %+v, %v", len(out.Stdout), out.Stderr, out.Exit, err)
		}
	})
}

func TestRunEndsWithItsContextAndSoDoesTheCommand(t *testing.T) {
	for name, part := range map[string]func(*clitest.Child){
		"silent":         func(*clitest.Child) {},
		"without output": func(f *clitest.Child) { _ = f.Out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				f := clitest.NewChild()
				_, err := Run(ctx, probed{f, func(f *clitest.Child) { part(f); synctest.Wait(); cancel() }}, process.Spec{})
				if core.CodeOf(err) != core.CodeProviderNotReady {
					t.Errorf("got %v", err)
				}
				if f.Exit().Signal != "SIGKILL" {
					t.Error("it lives on")
				}
			})
		})
	}
}

func TestRunReportsThatACommandCannotBeStarted(t *testing.T) {
	if _, err := Run(t.Context(), starter{core.Errorf(core.CodeNotFound, "no")}, process.Spec{}); core.CodeOf(err) != core.CodeProviderNotReady {
		t.Error(err)
	}
}
