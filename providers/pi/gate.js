// The approval gate of harness-mcp. Pi runs its tools without asking; this
// extension asks the harness before each one that may change something, and
// blocks the tool unless the answer allows it. What the harness answers by
// itself, and what it asks a person, is decided there.
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const channel = "__CHANNEL__";

// Pi's own tools that only look.
const harmless = new Set(["read", "grep", "find", "ls", "tool_search"]);

// Where a file lies, unless Pi would read more into its name than is written.
function plainPath(cwd, path) {
  if (typeof path !== "string" || path === "" || /^[@~]|^file:|[^\x20-\x7e]/.test(path)) return undefined;
  return resolve(cwd, path);
}

export default function (pi) {
  // Heard before the harness sends its first prompt: the gate is in place.
  pi.on("session_start", async (_event, ctx) => {
    ctx.ui.setStatus(channel, "ready");
  });

  pi.on("tool_call", async (event, ctx) => {
    if (harmless.has(event.toolName)) return;
    const path = plainPath(ctx.cwd, event.input?.path);
    const exists = path !== undefined && existsSync(path);
    const asked = JSON.stringify({ id: event.toolCallId, tool: event.toolName, input: event.input, path, exists });
    const answer = await ctx.ui.input(channel, asked, { signal: ctx.signal });
    if (answer === "allow") return;
    return { block: true, reason: answer || "The user did not allow this." };
  });
}
