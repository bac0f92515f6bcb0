// Package memstore is a core.Store in memory, for tests, examples and servers
// that keep nothing. Several stores can share one memory, as servers share a
// database.
package memstore
