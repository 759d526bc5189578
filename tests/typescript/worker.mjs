// A worker as one writes it with the official SDK; URL and token come from the environment.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";

const require = createRequire(process.env.SDK_FROM + "/");
const { Resonate } = await import(pathToFileURL(require.resolve("@resonatehq/sdk")));

// From the environment alone the SDK would not send the token on its stream.
const resonate = new Resonate({ ttl: 2147483647, token: process.env.WORKER_TOKEN });

resonate.register("leaf", async (ctx, n) => 2 * n);
resonate.register("report", function* (ctx, n) {
  const doubled = yield* ctx.rpc("leaf", n);
  const more = yield* ctx.run((ctx, m) => m + 1, doubled);
  yield* ctx.sleep(90_000);
  return more;
});
resonate.register("moody", async () => {
  throw new Error("never");
});

await resonate.schedule("report", "*/10 * * * *", "report", 20);
const told = await resonate.beginRpc("asked", "report", 4);
console.log(JSON.stringify({ ready: told.id }));
told.result().then((result) => console.log(JSON.stringify({ result })));

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "wrong") {
    try {
      await resonate.schedule("bad", "not a cron", "report", 1);
    } catch (error) {
      console.log(JSON.stringify({ refused: String(error) }));
    }
  }
  if (line === "stop") {
    resonate.stop();
    break;
  }
}
process.exit(0);
