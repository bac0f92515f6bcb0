package core

// TextFilter takes secrets out of one stream of text, or of bytes that may be
// text. It holds back the end of what it was given only as far as that may be
// the beginning of a secret. It is used by one goroutine.
type TextFilter struct {
	r    *Redactor
	scan scanState
	held string
}

// TextFilter makes the filter of one stream.
func (r *Redactor) TextFilter() *TextFilter { return &TextFilter{r: r} }

// Write takes the next piece and gives what may be shown now. All that Write
// and Flush give, joined, is what Redactor.String gives for the whole.
func (f *TextFilter) Write(p []byte) string {
	shown, rest := f.r.scan(&f.scan, f.held+string(p), false)
	f.held = rest
	return shown
}

// Held is how many bytes are held back.
func (f *TextFilter) Held() int { return len(f.held) }

// Flush ends the stream and gives what was held back.
func (f *TextFilter) Flush() string {
	shown, _ := f.r.scan(&f.scan, f.held, true)
	f.held = ""
	return shown
}
