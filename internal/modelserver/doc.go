// Package modelserver is a scripted model server on the loopback address. It
// implements enough of a vendor's model API for the vendor's real coding agent, and
// its responses follow the script in the prompt, at no cost.
//
// The script is the prompt. The text of the last user message is read line by
// line, one directive a line, in order:
//
//	say TEXT               a message
//	think TEXT             visible reasoning
//	stream N               a message of N deltas, "1 2 3 ... N "
//	fill BYTES             a message of that length, in numbered lines
//	slow MS                from here on, MS milliseconds before every delta
//	run COMMAND            runs a shell command
//	escalate COMMAND       runs it outside the sandbox, which asks a person
//	patch [FILE [TEXT]]    adds a file with one line
//	ask QUESTION|A|B       asks a person to choose
//	call NAME JSON         calls any tool that the agent offers
//	calls [[NAME, JSON]]   calls several at once (Messages API only)
//	remember               a message with the earlier prompts of the conversation
//	outputs                a message with the tool results since the prompt
//	fail STATUS            refuses the request: 400, 401, 404, 429, 500, 503
//	fail WORD              ends the stream with an error of that code
//	cut                    ends the stream without its last event
//	silent                 sends nothing until the caller closes the connection
//	once DIRECTIVE         only in the first request with this prompt
//
// A tool directive ends a response, as it does with a real model: the agent
// runs the tool and asks again, and the number of tool results after the last
// prompt determines where the script continues. So the server needs no memory of a
// conversation; only "once" counts. Other lines are ignored, and a prompt
// without any directive is answered with "ok: " and its beginning.
//
// Each API has a file of its own that decodes a request into a conversation
// and writes the response of the script; responses.go is the OpenAI Responses API,
// messages.go Anthropic's Messages API, chat.go OpenAI's Chat Completions and
// gemini.go Google's generateContent, those three streaming and in one piece.
// The last two choose among the tools that the agent offers by what it calls
// them.
//
// The server listens on 127.0.0.1 on a port that the system chooses, takes any
// key, and keeps what it was asked in memory for its owner to look at. It is
// used by tests, by the demo and by the probe of an installed agent.
package modelserver
