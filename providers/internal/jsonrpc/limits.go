package jsonrpc

// maxCalls bounds the requests of a Peer without a response.
const maxCalls = 1024
