package tools

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of what one call reads to make a page.
const (
	windowEvents = 1000    // read from the journal at a time
	windowBytes  = 1 << 20 // of data, at a time
	maxWindows   = 8       // read at most, to fill a page of joined events
	pageRoomFor  = 512     // of a reply, beside its events, in bytes
	tailRoom     = 4 << 20 // for a window's events with all that goes with them
	minCut       = 400     // of a page: the least that a cut event is shown in
)

// pager fills a page of events from the journal.
type pager struct {
	c     *call
	in    replayArgs
	limit int
	whole int // bytes for the structured half's events, at the beginning
	room  int // what is left of them
	text  int // bytes for the text half's

	events []*eventObject
	joiner *joiner
	steps  *summarizer
	out    *replayObject
}

// page reads a page of a journal in the view that was asked for.
func (c *call) page(ctx context.Context, in replayArgs) (*replayObject, error) {
	room := min(c.asked, c.budget-pageRoomFor)
	p := &pager{c: c, in: in, limit: in.limit(), whole: room, room: room, text: min(room, c.budget-pageRoomFor-linkRoom),
		joiner: newJoiner(), steps: newSummarizer(), out: &replayObject{View: in.view()}}
	if in.Tail != nil {
		return p.tail(ctx)
	}
	return p.forward(ctx)
}

func (p *pager) request(after uint64) core.ReplayRequest {
	return core.ReplayRequest{
		ID: p.in.ID, After: after, Limit: windowEvents, MaxBytes: windowBytes, Raw: p.in.view() == viewRaw,
		Types: eventTypes(p.in.Types),
	}
}

// forward reads on from a cursor until the page is full.
func (p *pager) forward(ctx context.Context) (*replayObject, error) {
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

func (p *pager) begin(page core.ReplayPage) {
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

// fill adds events until the page is full, and says whether it is. The cursor
// follows what was taken.
func (p *pager) fill(events []core.Event) bool {
	p.joiner.look(events)
	p.steps.look(events)
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

// add takes one event into the page, unless there is no room for it. An event
// that is larger than a page is taken alone, cut.
func (p *pager) add(e core.Event) bool {
	view := p.in.view()
	if view == viewJoined {
		if p.joiner.skip(e) {
			return true
		}
		if piece := p.joiner.find(e); piece != nil {
			return p.grow(piece, e)
		}
	}
	o := p.c.event(e)
	switch view {
	case viewEvents, viewRaw:
		o.whole(e, view == viewRaw)
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
	line := sayEvent(o, view)
	size := len(encode(o)) + 1
	if len(p.events) > 0 && (len(p.events) >= p.limit || size > p.room || len(line)+1 > p.text) {
		return false
	}
	p.room, p.text = p.room-size, p.text-len(line)-1
	p.events = append(p.events, o)
	if view == viewJoined {
		p.joiner.added(o, e)
	}
	return true
}

// grow adds an event to a piece that the page has, unless there is no room.
func (p *pager) grow(to *piece, e core.Event) bool {
	size := len(e.Data)
	if size > p.room || size > p.text {
		return false
	}
	p.room, p.text = p.room-size, p.text-size
	to.grow(e)
	return true
}

// tail takes the newest events: as many as were asked for and fit. The one that
// does not is cut, so that a long output before the end is not left out.
func (p *pager) tail(ctx context.Context) (*replayObject, error) {
	n := int(*p.in.Tail)
	req := p.request(0)
	req.Tail = windowEvents // joined and summed up they are fewer
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
	p.write()
	p.out.Cursor, p.out.More = page.Cursor, page.More
	p.events = slices.Clone(p.newest(n, room, text))
	p.finish()
	return p.out, nil
}

// newest gives the last n events, or as many of them as there is room for.
func (p *pager) newest(n, room, text int) []*eventObject {
	last := len(p.events) - 1
	for i := last; i >= max(0, last+1-n); i-- {
		o := p.events[i]
		room, text = room-len(encode(o))-1, text-len(sayEvent(o, p.in.view()))-1
		switch {
		case room >= 0 && text >= 0:
		case i == last: // it stands alone, and finish cuts it
			return p.events[i:]
		case p.cutTo(o, room+len(encode(o)), text+len(sayEvent(o, p.in.view()))):
			return p.events[i:]
		default:
			return p.events[i+1:]
		}
	}
	return p.events[max(0, last+1-n):]
}

// cutTo cuts an event until each half has room for it, unless too little of it
// would be left.
func (p *pager) cutTo(o *eventObject, room, text int) bool {
	whole := *o
	for most := min(room, text); most >= minCut; most = most * 3 / 4 {
		*o = whole
		if o.cut(most); len(encode(o)) <= room && len(sayEvent(o, p.in.view())) <= text {
			return true
		}
	}
	return false
}

// finish cuts an event that is larger than the page, which then stands alone.
func (p *pager) finish() {
	p.write()
	if len(p.events) == 1 {
		p.events[0].cut(p.whole)
	}
	p.out.Events = p.events
	if p.out.Events == nil {
		p.out.Events = []*eventObject{}
	}
}

// write gives joined events their data.
func (p *pager) write() {
	for _, o := range p.events {
		if o.joined != nil {
			o.joined.write()
			o.joined = nil
		}
	}
}

func eventTypes(words []string) []core.EventType {
	var out []core.EventType
	for _, w := range words {
		out = append(out, core.EventType(w))
	}
	return out
}
