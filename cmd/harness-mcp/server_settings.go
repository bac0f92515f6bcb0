package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// about is a server's description of how it was started.
type about struct {
	Process  int               `json:"process"`
	Settings map[string]string `json:"settings"`
}

// settings returns the common flags by name, as the command line, the environment and
// the configuration file have set them. Each value is a digest, which is enough to
// compare two servers and discloses no path.
func settings(kctx *kong.Context) map[string]string {
	out := map[string]string{}
	for _, flag := range kctx.Model.Flags {
		switch flag.Name {
		case "help", "version", "config", "log-level": // what they change is in the others, or nowhere
			continue
		}
		hash := sha256.New()
		for _, word := range words(flag.Name, flag.Target.Interface()) {
			fmt.Fprintf(hash, "%d %s\n", len(word), word)
		}
		out[flag.Name] = hex.EncodeToString(hash.Sum(nil)[:8])
	}
	return out
}

// words returns the values of a flag, with paths made absolute.
func words(name string, value any) []string {
	values, many := value.([]string)
	if !many {
		values = []string{fmt.Sprint(value)}
	}
	for i, v := range values {
		values = slices.Clone(values)
		if whole, err := absolute("--" + name + "=" + v); err == nil && v != "" {
			values[i] = whole
		}
	}
	return append(values, name)
}

// compare prints which flags of this client differ from those of the server.
func (k *connectCmd) compare(ctx context.Context, r *remote, own map[string]string, std stdio) {
	theirs, err := r.about(ctx)
	if err != nil {
		return // there is none yet, or one that does not say
	}
	var differ []string
	for name, digest := range own {
		if other, said := theirs.Settings[name]; said && other != digest {
			differ = append(differ, "--"+name)
		}
	}
	if len(differ) == 0 {
		return
	}
	slices.Sort(differ)
	retry := "connect again"
	if !k.Start {
		retry = "connect with --start"
	}
	fmt.Fprintf(std.err, "harness-mcp: the server at %s was started with other flags, and keeps them: what this client gives for %s has no effect.\n"+
		"To start it with yours, end it (process %d) and %s; or give another address.\n",
		k.Address, strings.Join(differ, ", "), theirs.Process, retry)
}

// about requests a server's description.
func (r *remote) about(ctx context.Context) (about, error) {
	var got about
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+transport.PathAbout, nil)
	if err != nil {
		return got, err
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return got, fmt.Errorf("the server does not say: %s", response.Status)
	}
	return got, json.NewDecoder(http.MaxBytesReader(nil, response.Body, maxAbout)).Decode(&got)
}

// makeDirsAbsolute makes the directories of flags, variables and the configuration file
// absolute, relative to the folder in which this program was started. It is called once,
// before a command runs.
func (c *Common) makeDirsAbsolute() error {
	for _, dirs := range [][]string{c.AllowDir, c.PathDir} {
		for i, dir := range dirs {
			if dir == "" {
				continue
			}
			var err error
			if dirs[i], err = filepath.Abs(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// dirsExist returns a usageError if a directory of --allow-dir does not exist, since a
// mistyped one would confine agents to nothing.
func (c *Common) dirsExist() error {
	for _, dir := range c.AllowDir {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return usageErrorf("Give folders that exist.", "--allow-dir %s: %w", dir, err)
		case !info.IsDir():
			return usageErrorf("Give the folder that it is in.", "--allow-dir %s is no folder", filepath.Clean(dir))
		}
	}
	return nil
}
