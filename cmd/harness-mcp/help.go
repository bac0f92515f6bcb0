package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"
)

// versionFlag prints the version and exits.
type versionFlag bool

// BeforeReset is called by kong when the flag is given, before other checks.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	err := versionCmd{}.Run(stdio{out: app.Stdout})
	app.Exit(exitOK)
	return err
}

// asked rewrites "help" and "help COMMAND" to the flag.
func asked(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

// matters are the common flags that a command's help shows. A command that is
// not named shows them all: it is a server, starts one, or writes down how.
var matters = map[string][]string{
	"check":   {"config", "path-dir", "provider-config"},
	"demo":    {"config", "path-dir", "provider-config", "log-level"},
	"log":     {"config", "db", "log-level"},
	"list":    {"config", "db", "log-level"},
	"respond": {"config", "db", "log-level"},
	"reap":    {"config", "db", "log-level"},
	"version": {"config"},
}

// printHelp shows a command's own flags first, and of the common ones those that
// matter to it. The others are accepted too, since a file or a variable may set
// them for all commands.
func printHelp(o kong.HelpOptions, kctx *kong.Context) error {
	title, shown, some := "Server flags:", []string(nil), false
	if cmd := kctx.Selected(); cmd != nil {
		if shown, some = matters[cmd.Name]; some {
			title = "Common flags:"
		}
	}
	for _, flag := range kctx.Model.Flags {
		if flag.Name == "help" || flag.Name == "version" {
			continue
		}
		flag.Group = &kong.Group{Key: "common", Title: title}
		flag.Hidden = flag.Hidden || some && !slices.Contains(shown, flag.Name)
	}
	if err := kong.DefaultHelpPrinter(o, kctx); err != nil {
		return fmt.Errorf("printing the help: %w", err)
	}
	return nil
}
