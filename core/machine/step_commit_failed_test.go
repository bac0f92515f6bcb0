package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// unstoredRow is a batch that the store did not take. A nil conflict is a store
// that failed and a server that stops for it.
type unstoredRow struct {
	name     string
	state    func(*rig) *rig
	batch    func(*rig) []Input
	conflict *core.ConflictError
	want     string
}

func unstoredRows() []unstoredRow {
	key := func(k string) *core.KeyRecord { return &core.KeyRecord{Owner: "local", Tool: "t", Key: k} }
	send := func(turn string, k *core.KeyRecord) func(*rig) []Input {
		return func(r *rig) []Input {
			return []Input{Prompt{Token: r.tok(), TurnID: turn, Input: core.TurnInput{Prompt: "p"}, Key: k, Queue: true}}
		}
	}
	and := func(fs ...func(*rig) []Input) func(*rig) (all []Input) {
		return func(r *rig) (all []Input) {
			for _, f := range fs {
				all = append(all, f(r)...)
			}
			return all
		}
	}
	opened := func(r *rig) []Input { return []Input{Opened{Epoch: r.s.Epoch}} }
	notOpened := func(r *rig) []Input {
		return []Input{Opened{Epoch: r.s.Epoch, Err: core.Errorf(core.CodeStartFailed, "no")}}
	}
	hungUp := func(r *rig) []Input { return []Input{HungUp{Epoch: r.s.Epoch}} }
	lost := func(r *rig) []Input { return []Input{LinkLost{Epoch: r.s.Epoch}} }
	stop := func(r *rig) []Input { return []Input{Close{Token: r.tok()}} }
	delta := func(r *rig) []Input {
		return []Input{r.noticed(core.Content{Turn: "trn_1", Payload: core.MessageDelta{Text: "x"}})}
	}
	steered := func(r *rig) []Input {
		r.in(Steer{Token: r.tok(), Input: core.TurnInput{Prompt: "left"}, Key: key("k1")})
		return []Input{r.noticed(core.OpDone{Op: sentOp[core.Steer](r).ID})}
	}
	openingWithKey := func(r *rig) *rig {
		r.in(Start{Token: r.tok(), Key: key("k1")})
		return r
	}
	resuming := func(r *rig) *rig {
		r.closed()
		r.in(Resume{Token: r.tok(), Config: r.s.Base.Config})
		return r
	}
	conflict := func(kind, id string) *core.ConflictError { return &core.ConflictError{Kind: kind, ID: id} }
	return []unstoredRow{
		{"a turn id is taken", (*rig).running, and(delta, send("trn_2", nil), send("trn_3", nil)), conflict("turn_id", "trn_2"),
			"again Notice Prompt; refuse turn_id_already_used"},
		{"a prompt's key is taken", (*rig).running, and(send("trn_2", key("k1")), send("trn_3", nil)), conflict("key", "k1"),
			"again Prompt; refuse idempotency_conflict retryable"},
		{"a key is taken whose call has had its effect", (*rig).running, and(delta, steered), conflict("key", "k1"),
			"stands: message_delta steered; reply ok"},
		{"a key is taken that nothing of the batch brought", (*rig).running, and(delta, send("trn_2", nil)), conflict("key", "k9"),
			"again nothing; refuse owned_by_other_instance; ends; taken"},
		{"the id of a start is taken", (*rig).opening, opened, conflict("session_id", "ses_test"),
			"again Opened{session_id_in_use}"},
		{"the key of a start is taken", openingWithKey, opened, conflict("key", "k1"),
			"again Opened{idempotency_conflict retryable}"},
		{"the session of a resume has changed", resuming, and(opened, stop), conflict("seq", ""),
			"again Close Opened{session_id_in_use retryable}"},
		{"a start that failed is no conflict's cause", resuming, notOpened, conflict("seq", ""),
			"again Opened; taken"},
		{"another server has the session", (*rig).running, and(delta, send("trn_2", nil), stop), conflict("seq", ""),
			"again nothing; refuse owned_by_other_instance; refuse owned_by_other_instance; ends; taken"},
		{"another server has the session, which is gone", (*rig).closing, and(delta, hungUp, lost), conflict("seq", ""),
			"again HungUp LinkLost; ends; taken"},
		{"the store fails under a prompt", (*rig).idle, send("trn_1", nil), nil,
			"again nothing; refuse store_failed; ends"},
		{"the store fails under an opening", (*rig).opening, and(opened, stop), nil,
			"again Opened{store_failed}; refuse store_failed"},
		{"the store fails under an opening that failed", (*rig).opening, notOpened, nil,
			"again Opened"},
		{"the store fails under a resume's first command", resuming, stop, nil,
			"again nothing; refuse store_failed; ends"},
		{"the store fails while the session hangs up", (*rig).hangingUp, hungUp, nil,
			"again HungUp; ends"},
	}
}

func (u Unstored) describe() string {
	if u.Stands {
		return "stands: " + describeEffects(u.Effects)
	}
	word := func(e *core.Error) string { return replyWord(Reply{Err: e}) }
	again := "again"
	for _, in := range u.Again {
		again += " " + strings.TrimPrefix(fmt.Sprintf("%T", in), "machine.")
		if o, ok := in.(Opened); ok && o.Refused != nil {
			again += "{" + word(o.Refused) + "}"
		}
	}
	if len(u.Again) == 0 {
		again += " nothing"
	}
	words := []string{again}
	for _, r := range u.Refused {
		words = append(words, "refuse "+word(r.Err))
	}
	if u.Ends {
		words = append(words, "ends")
	}
	if u.Taken {
		words = append(words, "taken")
	}
	return strings.Join(words, "; ")
}

func TestABatchThatIsNotStored(t *testing.T) {
	for _, row := range unstoredRows() {
		t.Run(row.name, func(t *testing.T) {
			r := row.state(newRig(t))
			batch := row.batch(r)
			before, old := r.s, frozenState(t, r.s)
			_, out := StepAll(before, batch, r.now)
			var u Unstored
			if row.conflict != nil {
				u = OnConflict(before, batch, out, row.conflict)
			} else {
				u = OnStop(before, batch, core.Errorf(core.CodeStoreFailed, "disk full"))
			}
			if got := u.describe(); got != row.want {
				t.Errorf("\n got %s\nwant %s", got, row.want)
			}
			if frozenState(t, before) != old {
				t.Error("the state before the batch was changed in place")
			}
		})
	}
}

// Every caller in a batch that is not stored is answered, or its command is
// stepped again: no token is lost.
func TestNoCallerOfABatchThatIsNotStoredIsForgotten(t *testing.T) {
	for _, row := range unstoredRows() {
		r := row.state(newRig(t))
		batch := row.batch(r)
		_, out := StepAll(r.s, batch, r.now)
		c := row.conflict
		if c == nil {
			c = &core.ConflictError{Kind: "seq"}
		}
		for _, u := range []Unstored{OnConflict(r.s, batch, out, c), OnStop(r.s, batch, core.Errorf(core.CodeStoreFailed, "disk full"))} {
			if u.Stands {
				continue
			}
			left := map[Token]int{}
			for _, in := range batch {
				left[in.token()]++
			}
			for _, in := range u.Again {
				left[in.token()]--
			}
			for _, a := range u.Refused {
				left[a.Token]--
			}
			delete(left, 0)
			for token, n := range left {
				if n != 0 {
					t.Errorf("%s: token %d is answered or stepped again %d times too few", row.name, token, n)
				}
			}
		}
	}
}
