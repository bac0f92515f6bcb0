package link

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// probed is a runner of one fake that plays a part.
type probed struct {
	*fake
	part func(*fake)
}

func (p probed) Start(context.Context, process.Spec) (process.Child, error) {
	go p.part(p.fake)
	return p.fake, nil
}

func TestRunGivesWhatACommandWroteAndHowItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := Run(t.Context(), probed{newFake(), func(f *fake) {
			_, _ = io.WriteString(f.errW, "a warning")
			_, _ = io.WriteString(f.outW, "1.2.3"+strings.Repeat(" ", 2*maxOutput))
			f.die(process.Exit{Code: 3})
		}}, process.Spec{})
		if err != nil || !strings.HasPrefix(out.Stdout, "1.2.3 ") || len(out.Stdout) != maxOutput || out.Stderr != "a warning" || out.Exit.Code != 3 {
			t.Errorf("%d bytes, %q, %+v, %v", len(out.Stdout), out.Stderr, out.Exit, err)
		}
	})
}

func TestRunEndsWithItsContextAndSoDoesTheCommand(t *testing.T) {
	for name, part := range map[string]func(*fake){
		"silent":         func(*fake) {},
		"without output": func(f *fake) { _ = f.outW.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				f := newFake()
				_, err := Run(ctx, probed{f, func(f *fake) { part(f); synctest.Wait(); cancel() }}, process.Spec{})
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

func TestRunSaysThatACommandCannotBeStarted(t *testing.T) {
	if _, err := Run(t.Context(), starter{core.Errorf(core.CodeNotFound, "no")}, process.Spec{}); core.CodeOf(err) != core.CodeProviderNotReady {
		t.Error(err)
	}
}
