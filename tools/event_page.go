package tools

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// eventPager fills a page of events from the journal.
type eventPager struct {
	c     *call
	in    replayArgs
	limit int
	whole int // bytes for the structured half's events, at the beginning
	room  int // the rest of them
	text  int // bytes for the text half's

	events []*eventObject
	deltas *deltaMerger
	steps  *summarizer
	out    *replayObject
}

// eventPage reads a page of a journal in the requested view.
func (c *call) eventPage(ctx context.Context, in replayArgs) (*replayObject, error) {
	room := min(c.contentBudget, c.budget-pageRoomFor)
	p := &eventPager{c: c, in: in, limit: in.limit(), whole: room, room: room, text: min(room, c.budget-pageRoomFor-linkRoom),
		deltas: newDeltaMerger(), steps: newSummarizer(), out: &replayObject{View: in.view()}}
	if in.Tail != nil {
		return p.tail(ctx)
	}
	return p.forward(ctx)
}

func (p *eventPager) request(after uint64) core.ReplayRequest {
	return core.ReplayRequest{
		ID: p.in.ID, After: after, Limit: windowEvents, MaxBytes: windowBytes, Raw: p.in.view() == viewRaw,
		Types: convertStrings[core.EventType](p.in.Types),
	}
}

// forward reads from a cursor until the page is full, at most maxWindows
// windows.
func (p *eventPager) forward(ctx context.Context) (*replayObject, error) {
	after := p.in.after()
	p.out.Cursor = after
	for range maxWindows {
		page, err := p.c.h.Replay(ctx, p.c.caller.Owner, p.request(after))
		if err != nil {
			return nil, err
		}
		p.begin(page)
		full := p.fill(page.Events)
		if full {
			p.out.More = true
			break
		}
		p.out.Cursor, p.out.More = max(p.out.Cursor, page.Cursor), page.More
		if page.Cursor < after {
			p.out.Cursor, p.out.beyond = page.Cursor, after
		}
		after = page.Cursor
		if !page.More {
			break
		}
	}
	p.finish()
	return p.out, nil
}

func (p *eventPager) begin(page core.ReplayPage) {
	p.out.resource, p.out.turn = page.Resource, page.TurnID
	if page.AvailableFrom > 0 {
		p.out.AvailableFrom = page.AvailableFrom
	}
	for _, e := range page.Events {
		var gap struct {
			From uint64 `json:"available_from"`
		}
		if e.Type == core.ReplayGap && json.Unmarshal(e.Data, &gap) == nil {
			p.out.AvailableFrom = max(p.out.AvailableFrom, gap.From)
		}
	}
}

// fill adds events until the page is full, and reports whether it is. The
// cursor follows the last event that was added.
func (p *eventPager) fill(events []core.Event) bool {
	p.deltas.scan(events)
	p.steps.scan(events)
	for _, e := range events {
		if !p.add(e) {
			return true
		}
		if e.Type != core.ReplayGap {
			p.out.Cursor = e.Seq
		}
	}
	return false
}

// add adds one event to the page, and reports whether there was room for it. An
// event that is larger than a page is added alone, truncated.
func (p *eventPager) add(e core.Event) bool {
	view := p.in.view()
	if view == viewJoined {
		if p.deltas.skip(e) {
			return true
		}
		if piece := p.deltas.find(e); piece != nil {
			return p.grow(piece, e)
		}
	}
	o := p.c.event(e)
	switch view {
	case viewEvents, viewRaw:
		o.addEnvelope(e, view == viewRaw)
	case viewSummary:
		line := p.steps.line(e)
		if line == "" {
			return true
		}
		o.summary(line)
	}
	if view == viewJoined && !slices.Contains(p.in.Types, string(core.TypeProviderEvent)) {
		o.nameOnly()
	}
	line := proseEvent(o, view)
	size := len(encode(o)) + 1
	if len(p.events) > 0 && (len(p.events) >= p.limit || size > p.room || len(line)+1 > p.text) {
		return false
	}
	p.room, p.text = p.room-size, p.text-len(line)-1
	p.events = append(p.events, o)
	if view == viewJoined {
		p.deltas.added(o, e)
	}
	return true
}

// grow appends an event to a merged event of the page, and reports whether
// there was room for it.
func (p *eventPager) grow(to *mergedEvent, e core.Event) bool {
	size := len(e.Data)
	if size > p.room || size > p.text {
		return false
	}
	p.room, p.text = p.room-size, p.text-size
	to.append(e)
	return true
}

// tail reads the newest events: as many as were asked for and fit. The first
// that does not fit is truncated, so that a long output before the end is not
// left out.
func (p *eventPager) tail(ctx context.Context) (*replayObject, error) {
	n := int(*p.in.Tail)
	req := p.request(0)
	req.Tail = windowEvents // merged or summed up they are fewer
	if v := p.in.view(); v == viewEvents || v == viewRaw {
		req.Tail = n
	}
	req.Limit = req.Tail
	page, err := p.c.h.Replay(ctx, p.c.caller.Owner, req)
	if err != nil {
		return nil, err
	}
	p.begin(page)
	room, text := p.room, p.text
	p.room, p.text, p.limit = tailRoom, tailRoom, windowEvents // all of the window
	p.fill(page.Events)
	p.writeMerged()
	p.out.Cursor, p.out.More = page.Cursor, page.More
	p.events = slices.Clone(p.newest(n, room, text))
	p.finish()
	return p.out, nil
}

// newest returns the last n events, or as many of them as there is room for.
func (p *eventPager) newest(n, room, text int) []*eventObject {
	last := len(p.events) - 1
	for i := last; i >= max(0, last+1-n); i-- {
		o := p.events[i]
		room, text = room-len(encode(o))-1, text-len(proseEvent(o, p.in.view()))-1
		switch {
		case room >= 0 && text >= 0:
		case i == last: // finish truncates a single event
			return p.events[i:]
		case p.truncateTo(o, room+len(encode(o)), text+len(proseEvent(o, p.in.view()))):
			return p.events[i:]
		default:
			return p.events[i+1:]
		}
	}
	return p.events[max(0, last+1-n):]
}

// truncateTo truncates an event until it fits into the room of both halves. It
// reports false if less than minTruncated bytes would be left.
func (p *eventPager) truncateTo(o *eventObject, room, text int) bool {
	whole := *o
	for most := min(room, text); most >= minTruncated; most = most * 3 / 4 {
		*o = whole
		if o.truncate(most); len(encode(o)) <= room && len(proseEvent(o, p.in.view())) <= text {
			return true
		}
	}
	return false
}

// finish truncates a single event that is larger than the page.
func (p *eventPager) finish() {
	p.writeMerged()
	if len(p.events) == 1 {
		p.events[0].truncate(p.whole)
	}
	p.out.Events = p.events
	if p.out.Events == nil {
		p.out.Events = []*eventObject{}
	}
}

// writeMerged encodes the data of merged events.
func (p *eventPager) writeMerged() {
	for _, o := range p.events {
		if o.merged != nil {
			o.merged.write()
			o.merged = nil
		}
	}
}
