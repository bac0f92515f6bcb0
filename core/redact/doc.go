// Package redact takes secrets out of what is stored, logged or shown. A Redactor
// knows the values of one session or process and the forms of common keys. It
// works on whole texts, on JSON (inside strings, by names of members) and, with
// TextFilter and NoticeFilter, on the stream of one item: it holds back what may
// be the beginning of a secret, so that a value which is cut over two deltas is
// found and joined deltas equal the message.
package redact
