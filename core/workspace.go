package core

import "context"

// Workspace reports what changes in a directory, independent of what an agent
// reports. It is safe for concurrent use.
type Workspace interface {
	// Watch records the present state of dir and everything below it. changed
	// returns what is different since then; a nil changed means that there is nothing
	// to compare with. ctx limits each look.
	Watch(ctx context.Context, dir string) (changed func(context.Context) ([]FileEdit, error), err error)
}
