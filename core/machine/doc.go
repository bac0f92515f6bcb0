// Package machine is what a session does. Step takes a State and an Input and
// returns the next State and a list of Effects; it is the only code that decides
// anything about a session. It has no goroutine, clock, channel or I/O, so a race
// is the order of its inputs, and every order can be played in a test.
//
// A State holds facts, never a status: the words that callers read are derived
// from it. It is copied by value, and what its pointers and slices reach is never
// changed in place, so an old State stays true and a host can return to it.
//
// The host, core/harness, owns time, ids and order. It supplies fresh ids and the
// time with each input, commits what the effects append, and only then carries
// out the others, in order.
package machine
