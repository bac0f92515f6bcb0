package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Server is a running model server. It is safe for concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	ctx      context.Context // ends with Close, and every response with it
	cancel   context.CancelFunc
	served   chan struct{} // closed when the accept loop has returned
	active   chan struct{} // one token per request in work
	handlers sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	recorded []Request
	size     int // bytes of the recorded bodies
	seen     map[string]bool
	ids      int
}

// Request is one request as it came in. Headers are not kept, for the key in
// them may be real.
type Request struct {
	API    string // which API, such as "responses"
	Path   string
	Prompt string // the last user message
	Body   json.RawMessage
}

// Start listens on 127.0.0.1 and serves until Close.
func Start() (*Server, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("modelserver: listen on loopback: %w", err)
	}
	s := &Server{
		listener: l,
		served:   make(chan struct{}),
		active:   make(chan struct{}, maxActive),
		seen:     make(map[string]bool),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", s.serve(responsesAPI))
	mux.HandleFunc("POST /v1/messages", s.serve(messagesAPI))
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chatAPI))
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	mux.HandleFunc("GET /v1/models", noModels)
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {}) // is anyone there?
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ErrServerClosed, or the listener's end
	}()
	return s, nil
}

// URL is the address without a path, such as http://127.0.0.1:40123. The base
// address of the OpenAI API is URL with "/v1" after it.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Requests returns what was asked, oldest first; at most 256 requests and 64 MiB
// are kept.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.recorded...)
}

// Close ends every response and returns when no goroutine of the server is
// left. It is idempotent.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	err := s.http.Close()
	<-s.served
	s.handlers.Wait() // each ends with ctx or with its connection
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("modelserver: close: %w", err)
	}
	return nil
}

// api is one vendor's API: how a request is read, how a refusal looks, and how
// a response is written.
type api struct {
	name   string
	decode func(body []byte) (conversation, any, error)
	refuse func(w http.ResponseWriter, status int)
	reply  func(s *Server, w http.ResponseWriter, request any) responseWriter
}

// enter takes a place among the requests in work.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.active <- struct{}{}:
		s.handlers.Add(1)
		return true
	default:
		return false
	}
}

func (s *Server) leave() {
	<-s.active
	s.handlers.Done()
}

// serve handles one request of an API.
func (s *Server) serve(a api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			a.refuse(w, http.StatusServiceUnavailable)
			return
		}
		defer s.leave()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			a.refuse(w, http.StatusRequestEntityTooLarge)
			return
		}
		c, request, err := a.decode(body)
		if err != nil {
			a.refuse(w, http.StatusBadRequest)
			return
		}
		s.record(Request{API: a.name, Path: r.URL.Path, Prompt: c.prompt(), Body: body})
		script := s.script(c)
		for _, d := range script {
			if d.word == "fail" && d.status() != 0 {
				a.refuse(w, d.status())
				return
			}
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		// What ends a play early is the caller's own hanging up.
		_ = play(ctx, c, script, a.reply(s, w, request))
	}
}

// script returns the directives of one response, without those whose once is
// spent.
func (s *Server) script(c conversation) []directive {
	key := c.id + "\n" + c.prompt()
	s.mu.Lock()
	first := !s.seen[key]
	if len(s.seen) < maxOnce {
		s.seen[key] = true
	}
	s.mu.Unlock()
	var script []directive
	for _, d := range parseScript(c.prompt()) {
		if first || !d.once {
			script = append(script, d)
		}
	}
	return segment(script, c.answered())
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = append(s.recorded, r)
	s.size += len(r.Body)
	for len(s.recorded) > maxRecorded || s.size > maxRecordSize && len(s.recorded) > 1 {
		s.size -= len(s.recorded[0].Body)
		s.recorded = append([]Request(nil), s.recorded[1:]...)
	}
}

// nextID makes an id that is unique in this server.
func (s *Server) nextID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_%04d", prefix, s.ids)
}
