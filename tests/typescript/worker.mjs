// A worker as one writes it with the official SDK. URL and token come from the environment; on
// its input it is told in lines of JSON what to ask for, and on its output it tells what came.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";

const require = createRequire(process.env.SDK_FROM + "/");
const { Constant, Never, Resonate } = await import(
  pathToFileURL(require.resolve("@resonatehq/sdk"))
);
const tell = (what) => console.log(JSON.stringify(what));

// From the environment alone the SDK would not send the token on its stream.
const resonate = new Resonate({
  pid: process.env.WORKER_PID,
  ttl: Number(process.env.WORKER_TTL ?? 2147483647),
  token: process.env.WORKER_TOKEN,
});

const tried = new Map();

resonate.register("leaf", async (ctx, n) => 2 * n);
resonate.register("report", function* (ctx, n) {
  const doubled = yield* ctx.rpc("leaf", n);
  const more = yield* ctx.run((ctx, m) => m + 1, doubled);
  yield* ctx.sleep(90_000);
  return more;
});
resonate.register("flaky", async (ctx, n) => {
  tried.set(ctx.id, (tried.get(ctx.id) ?? 0) + 1);
  if (tried.get(ctx.id) < n) throw new Error("not yet");
  return tried.get(ctx.id);
});
resonate.register("moody", function* (ctx, n) {
  const retryPolicy = new Constant({ delay: 1, maxRetries: 5 });
  return yield* ctx.rpc("flaky", n, ctx.options({ retryPolicy }));
});
resonate.register("hopeless", function* (ctx) {
  return yield* ctx.rpc("flaky", 9, ctx.options({ retryPolicy: new Never() }));
});
resonate.register("audit", function* (ctx) {
  yield* ctx.sleep(120_000);
  return "audited";
});
resonate.register("approval", function* (ctx) {
  yield* ctx.detached("audit");
  const question = yield* ctx.promise();
  tell({ question: question.id });
  return yield* question;
});
resonate.register("held", (ctx) => {
  tell({ held: ctx.id });
  return process.env.WORKER_ENDS === "never" ? new Promise(() => {}) : "done";
});

tell({ listening: resonate.pid });

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, id, cron, func, args = [], value } = JSON.parse(line);
  try {
    if (ask === "schedule") await resonate.schedule(id, cron, func, ...args);
    if (ask === "run" || ask === "rpc") {
      const begin = ask === "run" ? "beginRun" : "beginRpc";
      const handle = await resonate[begin](id, func, ...args);
      handle.result().then(
        (result) => tell({ id, result }),
        (error) => tell({ id, error: error.message }),
      );
    }
    if (ask === "settle") await resonate.promises.resolve(id, { data: value });
    if (ask === "stop") break;
    tell({ done: ask });
  } catch (error) {
    tell({ refused: String(error) });
  }
}
await resonate.stop();
process.exit(0);
