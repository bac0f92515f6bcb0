// Package tools is the MCP surface of the harness: what an agent, an IDE or a
// person sees of it. It registers tools on an mcp-go MCPServer and turns every
// call into one call of harness.Harness and one reply.
//
// A tool is one file: an argument struct, a description and a function that
// calls core. Everything else is the same for all of them:
//
//	args.go          reads arguments leniently and refuses unknown ones
//	input_schema.go  makes the input schema from the argument struct
//	handle.go        runs a call: panics, idempotency, progress, errors
//	reply.go         makes the two halves of a reply within their budget
//	suggest.go       suggests the calls that follow
//	truncate.go      shortens texts and objects to a budget
//	prose*.go        the text half
//	limits.go        every bound and default
//	object_*.go      the shared objects: turn, session, request, process, event
//	tool_*.go        the tools
//	resources.go     the same objects by address; prompts.go, completions.go
//
// A reply has two halves, and clients show their model only one of them: the
// structured one, or the text. So each half is complete. The structured half
// is an ordered object: ids, status and next come first, long text last. The
// text half is prose: at most five lines with what happened and what to call
// next, an empty line, and the content.
//
// Core decides which call is allowed when; this package only presents it. The
// functions of a tool have no state and may run concurrently.
package tools
