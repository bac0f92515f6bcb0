// Extensions of a user's, as the tests need them: a tool that asks by every
// dialog there is, and commands that ask outside of a turn.
export default function (pi) {
  pi.registerTool({
    name: "survey", label: "survey", description: "asks the user",
    parameters: { type: "object", properties: { how: { type: "string" }, timeout: { type: "number" } }, required: ["how"] },
    async execute(_id, { how, timeout }, _signal, _update, ctx) {
      const options = timeout ? { timeout } : undefined;
      const asked = {
        select: () => ctx.ui.select("Which?", ["red", "blue"], options),
        confirm: () => ctx.ui.confirm("Sure?", "It cannot be undone.", options),
        input: () => ctx.ui.input("Name?", "you", options),
        editor: () => ctx.ui.editor("Text?", "old text"),
      };
      const answer = await asked[how]();
      ctx.ui.notify(`told ${answer}`, "warning");
      return { content: [{ type: "text", text: `the user said: ${answer}` }], details: {} };
    },
  });
  pi.on("session_start", async (_event, ctx) => {
    // Never answered, it would keep this extension waiting for ever.
    void ctx.ui.confirm("Outside", "Asked before any turn.");
  });
  pi.registerCommand("forget", {
    description: "a command that a prompt must not reach",
    handler: async (_args, ctx) => { ctx.ui.notify("the command ran", "error"); },
  });
  pi.on("agent_end", async () => {
    if (process.env.TEST_OWN_TURN && !globalThis.began) {
      globalThis.began = true;
      setTimeout(() => pi.sendUserMessage("say by myself"), 50);
    }
  });
}
