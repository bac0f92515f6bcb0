// Package e2e drives an MCP client that is not ours, the TypeScript SDK's, so
// that tests see the server as others do.
//
// Start runs driver.mjs under node. The driver starts the server through the
// SDK's stdio client and then takes commands and gives events, one JSON object
// a line; see its head for the words. A test speaks to it through Client.
//
// The SDK is not part of this module. It is found in .tools/ts/node_modules of
// the repository, where npm installs what package.json pins, or in the
// node_modules directory that HARNESS_MCP_TEST_TSSDK names. Without it, or
// without node, tests are skipped, or failed where HARNESS_MCP_REQUIRE_CLIS=1.
package e2e
