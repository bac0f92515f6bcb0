package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// broken is a good store with some of its methods replaced. A nil field means
// the good method.
type broken struct {
	core.Store
	commit   func(ctx context.Context, s core.Store, b core.Batch) error
	events   func(ctx context.Context, s core.Store, q core.EventQuery) ([]core.Event, error)
	sessions func(ctx context.Context, s core.Store, q core.ListQuery) ([]core.SessionRecord, error)
	session  func(ctx context.Context, s core.Store, owner, id string) (core.SessionRecord, error)
	turn     func(ctx context.Context, s core.Store, owner, id string) (core.TurnRecord, error)
	lastSeq  func(ctx context.Context, s core.Store, owner, id string) (uint64, error)
	del      func(ctx context.Context, s core.Store, owner, id string) error
	trim     func(ctx context.Context, s core.Store, owner, id string, before uint64) error
	putKey   func(ctx context.Context, s core.Store, k core.KeyRecord) error
	sweep    func(ctx context.Context, s core.Store, before time.Time) error
	claim    func(ctx context.Context, s core.Store, owner, id, from, to string) (bool, error)
	children func(ctx context.Context, s core.Store, instance string) ([]core.Child, error)
	secret   func(s core.Store) []byte
	mail     brokenAnswers
	close    func(s core.Store) error
}

func (b *broken) Commit(ctx context.Context, batch core.Batch) error {
	if b.commit != nil {
		return b.commit(ctx, b.Store, batch)
	}
	return b.Store.Commit(ctx, batch)
}

func (b *broken) Events(ctx context.Context, q core.EventQuery) ([]core.Event, error) {
	if b.events != nil {
		return b.events(ctx, b.Store, q)
	}
	return b.Store.Events(ctx, q)
}

func (b *broken) Sessions(ctx context.Context, q core.ListQuery) ([]core.SessionRecord, error) {
	if b.sessions != nil {
		return b.sessions(ctx, b.Store, q)
	}
	return b.Store.Sessions(ctx, q)
}

func (b *broken) Session(ctx context.Context, owner, id string) (core.SessionRecord, error) {
	if b.session != nil {
		return b.session(ctx, b.Store, owner, id)
	}
	return b.Store.Session(ctx, owner, id)
}

func (b *broken) Turn(ctx context.Context, owner, id string) (core.TurnRecord, error) {
	if b.turn != nil {
		return b.turn(ctx, b.Store, owner, id)
	}
	return b.Store.Turn(ctx, owner, id)
}

func (b *broken) LastSeq(ctx context.Context, owner, id string) (uint64, error) {
	if b.lastSeq != nil {
		return b.lastSeq(ctx, b.Store, owner, id)
	}
	return b.Store.LastSeq(ctx, owner, id)
}

func (b *broken) Delete(ctx context.Context, owner, id string) error {
	if b.del != nil {
		return b.del(ctx, b.Store, owner, id)
	}
	return b.Store.Delete(ctx, owner, id)
}

func (b *broken) Trim(ctx context.Context, owner, id string, before uint64) error {
	if b.trim != nil {
		return b.trim(ctx, b.Store, owner, id, before)
	}
	return b.Store.Trim(ctx, owner, id, before)
}

func (b *broken) PutKey(ctx context.Context, k core.KeyRecord) error {
	if b.putKey != nil {
		return b.putKey(ctx, b.Store, k)
	}
	return b.Store.PutKey(ctx, k)
}

func (b *broken) SweepKeys(ctx context.Context, before time.Time) error {
	if b.sweep != nil {
		return b.sweep(ctx, b.Store, before)
	}
	return b.Store.SweepKeys(ctx, before)
}

func (b *broken) Claim(ctx context.Context, owner, id, from, to string) (bool, error) {
	if b.claim != nil {
		return b.claim(ctx, b.Store, owner, id, from, to)
	}
	return b.Store.Claim(ctx, owner, id, from, to)
}

func (b *broken) Children(ctx context.Context, instance string) ([]core.Child, error) {
	if b.children != nil {
		return b.children(ctx, b.Store, instance)
	}
	return b.Store.Children(ctx, instance)
}

func (b *broken) Secret() []byte {
	if b.secret != nil {
		return b.secret(b.Store)
	}
	return b.Store.Secret()
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close(b.Store)
	}
	return b.Store.Close()
}

// onCommit breaks a store by changing the batches that it is given.
func onCommit(change func(b *core.Batch)) *broken {
	return &broken{commit: func(ctx context.Context, s core.Store, b core.Batch) error {
		change(&b)
		return s.Commit(ctx, b)
	}}
}

// onEvents breaks a store by changing the queries for events and their answers.
func onEvents(ask func(q *core.EventQuery), answer func(q core.EventQuery, e []core.Event) []core.Event) *broken {
	return &broken{events: func(ctx context.Context, s core.Store, q core.EventQuery) ([]core.Event, error) {
		asked := q
		if ask != nil {
			ask(&q)
		}
		e, err := s.Events(ctx, q)
		if err == nil && answer != nil {
			e = answer(asked, e)
		}
		return e, err
	}}
}

// onConflict breaks a store by what it does about a conflict of a kind.
func onConflict(kind string, then func(ctx context.Context, s core.Store, b core.Batch, c *core.ConflictError) error) *broken {
	return &broken{commit: func(ctx context.Context, s core.Store, b core.Batch) error {
		err := s.Commit(ctx, b)
		var c *core.ConflictError
		if errors.As(err, &c) && c.Kind == kind {
			return then(ctx, s, b, c)
		}
		return err
	}}
}

// onList breaks a store by changing the queries for sessions.
func onList(ask func(q *core.ListQuery)) *broken {
	return &broken{sessions: func(ctx context.Context, s core.Store, q core.ListQuery) ([]core.SessionRecord, error) {
		ask(&q)
		return s.Sessions(ctx, q)
	}}
}

// TestEachBrokenStoreIsCaught breaks a good store in one way at a time and
// wants the named check to fail.
func TestEachBrokenStoreIsCaught(t *testing.T) {
	var kept []core.Event // by the store that keeps what it returned
	hidden := map[string]bool{}
	cases := []struct {
		name   string
		store  *broken
		caught string
	}{
		{"drops an event", onCommit(func(b *core.Batch) {
			if n := len(b.Events); n > 1 {
				b.Events = append([]core.Event{b.Events[0]}, b.Events[2:]...)
			}
		}), "events come back whole and in order"},
		{"reorders", onEvents(nil, func(_ core.EventQuery, e []core.Event) []core.Event {
			slices.Reverse(e)
			return e
		}), "events come back whole and in order"},
		{"loses a field of an event", onCommit(func(b *core.Batch) {
			b.Events = slices.Clone(b.Events)
			for i := range b.Events {
				b.Events[i].RequestID = ""
			}
		}), "events come back whole and in order"},
		{"numbers events itself", onCommit(func(b *core.Batch) {
			b.Events = slices.Clone(b.Events)
			for i := range b.Events {
				b.Events[i].Seq = b.ExpectSeq + uint64(i) + 1
			}
		}), "seq may have gaps"},
		{"takes the cursor as included", onEvents(func(q *core.EventQuery) {
			if q.After > 0 {
				q.After--
			}
		}, nil), "a page begins after its cursor and ends at until"},
		{"ignores until", onEvents(func(q *core.EventQuery) { q.Until = 0 }, nil), "a page begins after its cursor and ends at until"},
		{"ignores limit", onEvents(func(q *core.EventQuery) { q.Limit = 1 << 20 }, nil), "limit bounds a page"},
		{"gives the head for the tail", onEvents(func(q *core.EventQuery) { q.Tail = false }, nil), "tail gives the newest events in order"},
		{"ignores max bytes", onEvents(func(q *core.EventQuery) { q.MaxBytes = 0 }, nil), "max bytes bounds a page but gives one event"},
		{"gives nothing when the first event is too large", onEvents(nil, func(q core.EventQuery, e []core.Event) []core.Event {
			if q.MaxBytes > 0 && len(e) == 1 && len(e[0].Data) > q.MaxBytes {
				return nil
			}
			return e
		}), "max bytes bounds a page but gives one event"},
		{"ignores the turn", onEvents(func(q *core.EventQuery) { q.TurnID = "" }, nil), "events of one turn"},
		{"ignores types", onEvents(func(q *core.EventQuery) { q.Types = nil }, nil), "events of some types"},
		{"always gives raw frames", onEvents(func(q *core.EventQuery) { q.Raw = true }, nil), "raw frames only on request"},
		{"never gives raw frames", onEvents(func(q *core.EventQuery) { q.Raw = false }, nil), "raw frames only on request"},
		{"cuts large events", onCommit(func(b *core.Batch) {
			b.Events = slices.Clone(b.Events)
			for i := range b.Events {
				if len(b.Events[i].Data) > 1<<20 {
					b.Events[i].Data = json.RawMessage(`"cut"`)
				}
			}
		}), "a large event survives"},
		{"fails for an unknown journal", &broken{events: func(ctx context.Context, s core.Store, q core.EventQuery) ([]core.Event, error) {
			if last, err := s.LastSeq(ctx, q.Owner, q.Resource); err != nil || last == 0 {
				return nil, core.Errorf(core.CodeNotFound, "there is no %s", q.Resource)
			}
			return s.Events(ctx, q)
		}}, "an unknown journal is empty"},

		{"ignores the expected seq", onConflict("seq", func(ctx context.Context, s core.Store, b core.Batch, c *core.ConflictError) error {
			b.ExpectSeq = c.Stored
			return s.Commit(ctx, b)
		}), "a seq that is not expected is a conflict"},
		{"refuses the exact same batch", &broken{commit: func() func(context.Context, core.Store, core.Batch) error {
			seen := map[string]bool{}
			return func(ctx context.Context, s core.Store, b core.Batch) error {
				text, err := json.Marshal(b)
				if err == nil && seen[string(text)] {
					return &core.ConflictError{Kind: "seq", ID: b.Resource}
				}
				seen[string(text)] = true
				return s.Commit(ctx, b)
			}
		}()}, "the exact same batch is accepted"},
		{"takes other data under the same numbers", onConflict("seq", func(_ context.Context, _ core.Store, b core.Batch, c *core.ConflictError) error {
			if n := len(b.Events); n > 0 && b.Events[n-1].Seq == c.Stored {
				return nil
			}
			return c
		}), "the exact same batch is accepted"},
		{"publishes half a batch", onConflict("turn_id", func(ctx context.Context, s core.Store, b core.Batch, c *core.ConflictError) error {
			b.Turns = nil
			return errors.Join(c, s.Commit(ctx, b))
		}), "a refused batch leaves nothing"},
		{"keeps the keys of a refused batch", onConflict("request_id", func(ctx context.Context, s core.Store, b core.Batch, c *core.ConflictError) error {
			return errors.Join(c, s.PutKey(ctx, b.Keys[0]))
		}), "a refused batch leaves nothing"},
		{"sorts events out of order", onCommit(func(b *core.Batch) {
			b.Events = slices.Clone(b.Events)
			slices.SortFunc(b.Events, func(x, y core.Event) int { return int(x.Seq) - int(y.Seq) })
		}), "a malformed batch is refused"},
		{"ignores create", onCommit(func(b *core.Batch) { b.Create = false }), "create needs a free id"},
		{"ignores replace", onCommit(func(b *core.Batch) { b.Replace, b.Create = false, b.Create && !b.Replace }), "replace drops the old aggregate"},
		{"makes up a session", &broken{commit: func(ctx context.Context, s core.Store, b core.Batch) error {
			err := s.Commit(ctx, b)
			if core.CodeOf(err) == core.CodeNotFound {
				b.Session = session(b.Owner, b.Resource, 0)
				return s.Commit(ctx, b)
			}
			return err
		}}, "a batch without a snapshot needs an aggregate"},
		{"keeps the first snapshot", onCommit(func(b *core.Batch) {
			if !b.Create {
				b.Turns = nil
			}
		}), "snapshots are updated"},
		{"keeps the first instance", onCommit(func(b *core.Batch) {
			if !b.Create {
				b.Instance = ""
			}
		}), "snapshots are updated"},
		{"accepts a repeated turn id", onConflict("turn_id", func(ctx context.Context, s core.Store, b core.Batch, _ *core.ConflictError) error {
			b.Turns = nil
			return s.Commit(ctx, b)
		}), "ids are unique per owner"},
		{"has one space of ids for all owners", &broken{commit: func(ctx context.Context, s core.Store, b core.Batch) error {
			if _, err := s.Session(ctx, core.AllOwners, b.Resource); err == nil && b.Create {
				return &core.ConflictError{Kind: "session_id", ID: b.Resource}
			}
			return s.Commit(ctx, b)
		}}, "ids are unique per owner"},
		{"keeps what it is given", &broken{
			commit: func(ctx context.Context, s core.Store, b core.Batch) error {
				kept = b.Events
				return s.Commit(ctx, b)
			},
			events: func(ctx context.Context, s core.Store, q core.EventQuery) ([]core.Event, error) {
				return kept, nil
			},
		}, "what is given is not kept"},
		{"returns slices that it keeps", func() *broken {
			var cache []core.Event
			return &broken{events: func(ctx context.Context, s core.Store, q core.EventQuery) (_ []core.Event, err error) {
				if cache == nil {
					cache, err = s.Events(ctx, q)
				}
				return cache, err
			}}
		}(), "what is returned belongs to the caller"},
		{"returns its own secret", func() *broken {
			var own []byte
			return &broken{secret: func(s core.Store) []byte {
				if own == nil {
					own = s.Secret()
				}
				return own
			}}
		}(), "what is returned belongs to the caller"},
		{"stores the environment", func() *broken {
			var env map[string]string
			return &broken{
				commit: func(ctx context.Context, s core.Store, b core.Batch) error {
					if b.Session != nil {
						env = b.Session.Launch.Env
					}
					return s.Commit(ctx, b)
				},
				session: func(ctx context.Context, s core.Store, owner, id string) (core.SessionRecord, error) {
					rec, err := s.Session(ctx, owner, id)
					rec.Launch.Env = env
					return rec, err
				},
			}
		}(), "what may be secret is not stored"},

		{"gives an empty row for a missing one", &broken{turn: func(ctx context.Context, s core.Store, owner, id string) (core.TurnRecord, error) {
			rec, err := s.Turn(ctx, owner, id)
			if core.CodeOf(err) == core.CodeNotFound {
				err = nil
			}
			return rec, err
		}}, "rows that are not there"},
		{"lists oldest first", &broken{sessions: func(ctx context.Context, s core.Store, q core.ListQuery) ([]core.SessionRecord, error) {
			rows, err := s.Sessions(ctx, q)
			slices.Reverse(rows)
			return rows, err
		}}, "lists give newest first"},
		{"pages by time alone", onList(func(q *core.ListQuery) {
			if p, err := core.ParseCursor(q.Before); err == nil && q.Before != "" {
				q.Before = core.Cursor(p.At, "0")
			}
		}), "lists page by cursor"},
		{"ignores the page", onList(func(q *core.ListQuery) { q.Before = "" }), "lists page by cursor"},
		{"ignores the session in lists", onList(func(q *core.ListQuery) { q.SessionID = "" }), "lists filter by session and turn"},
		{"ignores the provider in lists", onList(func(q *core.ListQuery) { q.Provider = "" }), "lists filter by provider, status and instance"},
		{"ignores the status in lists", onList(func(q *core.ListQuery) { q.Status = nil }), "lists filter by provider, status and instance"},
		{"ignores the instance in lists", onList(func(q *core.ListQuery) { q.Instance = "" }), "lists filter by provider, status and instance"},
		{"ignores live in lists", onList(func(q *core.ListQuery) { q.Live = nil }), "lists filter by life and end"},
		{"ignores the end in lists", onList(func(q *core.ListQuery) { q.EndedBefore = time.Time{} }), "lists filter by life and end"},
		{"takes any cursor", onList(func(q *core.ListQuery) {
			if _, err := core.ParseCursor(q.Before); err != nil {
				q.Before = ""
			}
		}), "a cursor of another kind is refused"},
		{"ignores the owner of events", onEvents(func(q *core.EventQuery) { q.Owner = core.AllOwners }, nil), "owners do not see each other"},
		{"ignores the owner of sessions", onList(func(q *core.ListQuery) { q.Owner = core.AllOwners }), "owners do not see each other"},
		{"ignores the owner of a turn", &broken{turn: func(ctx context.Context, s core.Store, _, id string) (core.TurnRecord, error) {
			return s.Turn(ctx, core.AllOwners, id)
		}}, "owners do not see each other"},
		{"ignores the owner of a cursor", &broken{lastSeq: func(ctx context.Context, s core.Store, _, id string) (uint64, error) {
			return s.LastSeq(ctx, core.AllOwners, id)
		}}, "owners do not see each other"},
		{"ignores the owner of a deletion", &broken{del: func(ctx context.Context, s core.Store, _, id string) error {
			return errors.Join(s.Delete(ctx, ann, id), s.Delete(ctx, bob, id))
		}}, "owners do not see each other"},
		{"ignores the owner of a claim", &broken{claim: func(ctx context.Context, s core.Store, _, id, from, to string) (bool, error) {
			return s.Claim(ctx, ann, id, from, to)
		}}, "owners do not see each other"},
		{"does not know all owners", onList(func(q *core.ListQuery) {
			if q.Owner == core.AllOwners {
				q.Owner = ann
			}
		}), "all owners are seen together"},

		{"overwrites a key", &broken{putKey: func(ctx context.Context, s core.Store, k core.KeyRecord) error {
			return errors.Join(s.DeleteKey(ctx, k.Owner, k.Tool, k.Key), s.PutKey(ctx, k))
		}}, "a key is put once"},
		{"loses the keys of a batch", onCommit(func(b *core.Batch) { b.Keys = nil }), "keys are written with their batch"},
		{"lets a key have two effects", onConflict("key", func(ctx context.Context, s core.Store, b core.Batch, _ *core.ConflictError) error {
			b.Keys = nil
			return s.Commit(ctx, b)
		}), "keys are written with their batch"},
		{"does not let a claim be completed", &broken{commit: func(ctx context.Context, s core.Store, b core.Batch) error {
			for _, k := range b.Keys {
				if _, err := s.Key(ctx, k.Owner, k.Tool, k.Key); err == nil {
					return &core.ConflictError{Kind: "key", ID: k.Key}
				}
			}
			return s.Commit(ctx, b)
		}}, "a batch completes a claimed key"},
		{"sweeps every key", &broken{sweep: func(ctx context.Context, s core.Store, _ time.Time) error {
			return s.SweepKeys(ctx, at(1000))
		}}, "keys are deleted and swept"},
		{"claims without comparing", &broken{claim: func(ctx context.Context, s core.Store, owner, id, _, to string) (bool, error) {
			rec, err := s.Session(ctx, owner, id)
			if err != nil {
				return false, nil
			}
			runtime.Gosched()
			_, err = s.Claim(ctx, owner, id, rec.Instance, to)
			return true, err
		}}, "one racer claims an aggregate"},
		{"claims nothing", &broken{claim: func(context.Context, core.Store, string, string, string, string) (bool, error) {
			return false, nil
		}}, "one racer claims an aggregate"},
		{"mixes instances' children", &broken{children: func(ctx context.Context, s core.Store, _ string) ([]core.Child, error) {
			return s.Children(ctx, "")
		}}, "children are remembered until they are reaped"},
		{"trims one event too many", &broken{trim: func(ctx context.Context, s core.Store, owner, id string, before uint64) error {
			return s.Trim(ctx, owner, id, before+1)
		}}, "trim drops the oldest events"},
		{"counts from the events that are left", &broken{lastSeq: func(ctx context.Context, s core.Store, owner, id string) (uint64, error) {
			e, err := s.Events(ctx, core.EventQuery{Owner: owner, Resource: id, Tail: true, Limit: 1})
			if len(e) == 0 {
				return 0, err
			}
			return e[0].Seq, err
		}}, "trim drops the oldest events"},
		{"deletes the session only", &broken{
			del: func(_ context.Context, _ core.Store, _, id string) error {
				hidden[id] = true
				return nil
			},
			session: func(ctx context.Context, s core.Store, owner, id string) (core.SessionRecord, error) {
				if hidden[id] {
					return core.SessionRecord{}, core.Errorf(core.CodeNotFound, "deleted")
				}
				return s.Session(ctx, owner, id)
			},
			sessions: func(ctx context.Context, s core.Store, q core.ListQuery) ([]core.SessionRecord, error) {
				rows, err := s.Sessions(ctx, q)
				return slices.DeleteFunc(rows, func(r core.SessionRecord) bool { return hidden[r.Session.ID] }), err
			},
		}, "delete takes all that hangs on it"},
		{"fails to delete what is not there", &broken{del: func(ctx context.Context, s core.Store, owner, id string) error {
			last, err := s.LastSeq(ctx, owner, id)
			if err == nil && last == 0 {
				return core.Errorf(core.CodeNotFound, "there is no %s", id)
			}
			return s.Delete(ctx, owner, id)
		}}, "delete takes all that hangs on it"},
		{"makes a new secret each time", &broken{secret: func(core.Store) []byte {
			return []byte(core.NewEventID())
		}}, "the secret stays the same"},
		{"shares one cursor among resources", &broken{lastSeq: func(ctx context.Context, s core.Store, owner, _ string) (uint64, error) {
			return s.LastSeq(ctx, owner, "s0")
		}}, "resources commit side by side"},
		{"lets the last writer win", onConflict("seq", func(context.Context, core.Store, core.Batch, *core.ConflictError) error {
			return nil
		}), "one writer of many wins a seq"},
		{"does not look at the context", &broken{commit: func(_ context.Context, s core.Store, b core.Batch) error {
			return s.Commit(context.Background(), b)
		}}, "an ended context is refused"},
		{"works when closed", &broken{close: func(core.Store) error { return nil }}, "a closed store refuses"},
		{"closes once only", func() *broken {
			closed := false
			return &broken{close: func(s core.Store) error {
				if closed {
					return errors.New("closed already")
				}
				closed = true
				return s.Close()
			}}
		}(), "a closed store refuses"},
		{"keeps its instance alive", &broken{close: func(core.Store) error { return nil }}, "an instance is alive"},
	}
	for _, m := range brokenAnswerStores {
		cases = append(cases, struct {
			name   string
			store  *broken
			caught string
		}{m.name, &broken{}, m.caught})
		cases[len(cases)-1].store.mail = m.mail
	}
	checks := map[string]Check{}
	for _, c := range Checks() {
		checks[c.Name] = c
	}
	caught := map[string]bool{}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			check, ok := checks[tc.caught]
			if !ok {
				t.Fatalf("there is no check %q", tc.caught)
			}
			caught[tc.caught] = true
			tc.store.Store = memstore.New()
			if err := check.Run(t.Context(), tc.store); err == nil {
				t.Errorf("the check %q did not notice", tc.caught)
			}
		})
	}
	for name := range checks {
		if !caught[name] {
			t.Errorf("no broken store tests the check %q", name)
		}
	}
}

// TestTheGoodStorePasses keeps the test above honest: what it breaks is right
// before.
func TestTheGoodStorePasses(t *testing.T) {
	Run(t, func(*testing.T) core.Store { return &broken{Store: memstore.New()} })
	RunReopen(t, func(*testing.T) core.Store { return memstore.New() }, func(t *testing.T, s core.Store) core.Store {
		next := s.(*memstore.Store).Reopen()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return next
	})
}

func TestAStoreThatForgetsIsCaught(t *testing.T) {
	for _, c := range ReopenChecks()[:2] {
		err := c.Run(t.Context(), memstore.New(), func(core.Store) core.Store { return memstore.New() })
		if err == nil {
			t.Errorf("the check %q did not notice", c.Name)
		}
	}
	same := func(s core.Store) core.Store { return s }
	if err := ReopenChecks()[2].Run(t.Context(), memstore.New(), same); err == nil {
		t.Error("an instance that stays the same was not noticed")
	}
}
