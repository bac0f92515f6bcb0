//go:build !linux

package sqlitestore

import "os"

// syncFile does nothing here: the writer waits for the sync that it would have
// saved.
func syncFile(os.FileInfo) {}
