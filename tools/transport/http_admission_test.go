package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a response whose connection records its deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// slowly is a body that is long in coming.
type slowly struct {
	io.Reader
	takes time.Duration
}

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(s.takes)
	return s.Reader.Read(p)
}

func post(body io.Reader, kind string) *http.Request {
	r := httptest.NewRequest("POST", PathMCP, body)
	r.ContentLength = -1
	r.Header.Set("Content-Type", kind)
	return r
}

func TestABodyThatWasLongInComingLeavesTimeForItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder(), write: time.Now().Add(writeTimeout)}
		body, _, refused := readBody(w, post(slowly{strings.NewReader("{}"), writeTimeout * 2 / 3}, "application/json"), newPrincipal(t.Context(), "alice", 1))
		if refused != nil || string(body) != "{}" {
			t.Fatalf("%q, %v", body, refused)
		}
		if left := time.Until(w.write); left < writeTimeout {
			t.Errorf("%v are left to write the answer", left)
		}
		if !w.read.IsZero() {
			t.Errorf("what follows must come until %v", w.read)
		}
	})
}

func TestABodyThatIsRefusedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := newPrincipal(t.Context(), "alice", 1)
		full.reading.Store(maxBodies)
		crowded := newPrincipal(t.Context(), "alice", 1)
		crowded.calls.reserveBytes(maxHeldBytes)
		for name, tc := range map[string]struct {
			p    *principal
			kind string
			want *httpRefusal
		}{
			"too many bodies at once":    {full, "application/json", errBodyRoom},
			"too many bytes at once":     {crowded, "application/json", errBodyRoom},
			"something else than a call": {newPrincipal(t.Context(), "alice", 1), "text/plain", errBodyType},
		} {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			before := tc.p.reading.Load()
			if _, _, refused := readBody(w, post(strings.NewReader("{}"), tc.kind), tc.p); refused != tc.want {
				t.Errorf("%s: %v", name, refused)
			}
			tc.want.write(w)
			if left := time.Until(w.read); left > unreadBodyTimeout || w.read.IsZero() {
				t.Errorf("%s: the rest is waited for until %v", name, w.read)
			}
			if tc.p.reading.Load() != before {
				t.Errorf("%s: its place is not free again", name)
			}
		}
	})
}
