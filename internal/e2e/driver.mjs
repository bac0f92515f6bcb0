// Drives the TypeScript SDK's stdio client for Go tests: version 1, or with
// "modern" version 2, which speaks 2026-07-28.
//
//   node driver.mjs '{"sdk": dir, "command": file, "args": [], "env": {}, "cwd": dir, "elicit": {...}}'
//
// Commands on stdin, one JSON object a line; op is "call" if it is missing:
//   {id, op: "call", tool, args, timeout_ms}    call a tool
//   {id, op: "listTools"}                       every page of tools/list
//   {id, op: "request", method, params}         any other request
//   {id, op: "subscribe", uris}                 hear of changes of resources
//   {id, op: "cancel", target}                  abort the command with that id
//   {id, op: "kill", signal}                    send the server a signal
// The end of stdin closes the client and with it the server.
//
// Events on stdout, one JSON object a line:
//   {event: "ready", pid, server, capabilities, instructions}
//   {event: "result", id, result} or {event: "result", id, error: {message, code}}
//   {event: "progress", id, progress, total, message}
//   {event: "notification", method, params}
//   {event: "error", message}                   a fault the SDK noticed
//   {event: "closed"}                           the server is gone
//
// With "elicit" the client declares elicitation and answers every one with it,
// after "elicit_ms" milliseconds.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const config = JSON.parse(process.argv[2]);
const require = createRequire(join(config.sdk, "driver.cjs"));
const modern = config.modern === true;
const { Client } = require(modern ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require(modern ? "@modelcontextprotocol/client/stdio" : "@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema, ResultSchema } = modern ? {} : require("@modelcontextprotocol/sdk/types.js");

const emit = (event) => process.stdout.write(JSON.stringify(event) + "\n");
const failure = (error) => ({ message: String(error?.message ?? error), code: error?.code });

const transport = new StdioClientTransport({
  command: config.command,
  args: config.args ?? [],
  env: config.env ?? {},
  cwd: config.cwd,
  stderr: "inherit",
});
const capabilities = config.elicit ? { elicitation: {} } : {};
const settings = modern ? { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } } : { capabilities };
const client = new Client({ name: "harness-mcp-e2e", version: "1" }, settings);
if (config.elicit) {
  client.setRequestHandler(modern ? "elicitation/create" : ElicitRequestSchema, async () => {
    // A user who is still thinking keeps no driver alive.
    await new Promise((resolve) => setTimeout(resolve, config.elicit_ms ?? 0).unref());
    return config.elicit;
  });
}
client.fallbackNotificationHandler = async (n) => emit({ event: "notification", method: n.method, params: n.params });
client.onerror = (error) => emit({ event: "error", message: String(error?.message ?? error) });
const closed = new Promise((resolve) => {
  client.onclose = () => {
    emit({ event: "closed" });
    resolve();
  };
});

const running = new Map(); // id -> AbortController

function options(command) {
  const abort = new AbortController();
  running.set(command.id, abort);
  return {
    signal: abort.signal,
    timeout: command.timeout_ms ?? 60000,
    resetTimeoutOnProgress: true,
    onprogress: (p) => emit({ event: "progress", id: command.id, ...p }),
  };
}

async function listTools() {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : {});
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor);
  return { tools };
}

const ops = {
  call: (c) => {
    const params = { name: c.tool, arguments: c.args ?? {} };
    return modern ? client.callTool(params, options(c)) : client.callTool(params, undefined, options(c));
  },
  listTools,
  request: (c) => {
    const request = { method: c.method, params: c.params };
    return modern ? client.request(request, options(c)) : client.request(request, ResultSchema, options(c));
  },
  subscribe: async (c) => {
    if (modern) await client.listen({ resourceSubscriptions: c.uris });
    else for (const uri of c.uris) await client.subscribeResource({ uri });
    return {};
  },
  cancel: async (c) => {
    const abort = running.get(c.target);
    abort?.abort("cancelled by the test");
    return { found: abort !== undefined };
  },
  kill: async (c) => ({ sent: process.kill(transport.pid, c.signal ?? "SIGKILL") }),
};

async function run(command) {
  try {
    const op = ops[command.op ?? "call"];
    if (!op) throw new Error(`no such op: ${command.op}`);
    emit({ event: "result", id: command.id, result: await op(command) });
  } catch (error) {
    emit({ event: "result", id: command.id, error: failure(error) });
  } finally {
    running.delete(command.id);
  }
}

try {
  await client.connect(transport);
} catch (error) {
  emit({ event: "error", message: String(error?.message ?? error) });
  await transport.close();
  process.exit(1);
}
emit({
  event: "ready",
  pid: transport.pid,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
});
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim()) run(JSON.parse(line));
}
await client.close();
await closed;
