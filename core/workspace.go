package core

import "context"

// Workspace sees what changes in a directory, whatever an agent says. It is
// safe for concurrent use.
type Workspace interface {
	// Watch remembers how dir, with all below it, is now; changed says what has
	// become different there since. A nil changed means that there is nothing
	// to compare with. ctx bounds each look.
	Watch(ctx context.Context, dir string) (changed func(context.Context) ([]FileEdit, error), err error)
}
