// Package e2e drives the MCP client of the TypeScript SDK, so that tests check the
// server against an independent client.
//
// Start runs driver.mjs under node. The driver starts the server through the
// SDK's stdio client and then reads commands and writes events, one JSON object
// a line; its first comment lists them. A test uses it through Client.
//
// The SDK is not part of this module. It is found in .tools/ts/node_modules of
// the repository, where npm installs what package.json pins, or in the
// node_modules directory that HARNESS_MCP_TEST_TSSDK names. Without it, or
// without node, tests are skipped, or failed where HARNESS_MCP_REQUIRE_CLIS=1.
package e2e
