// The same with the SDK's second entry, whose workflows are async functions.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.SDK_FROM + "/");
const { Resonate } = await import(pathToFileURL(require.resolve("@resonatehq/sdk/async")));

const resonate = new Resonate({ ttl: 2147483647, token: process.env.WORKER_TOKEN });

resonate.register("leaf", async (ctx, n) => 2 * n);
resonate.register("report", async (ctx, n) => {
  const doubled = await ctx.rpc("leaf", n);
  const more = await ctx.run(async (ctx, m) => m + 1, doubled);
  await ctx.sleep(90_000);
  return more;
});
await resonate.schedule("report", "*/10 * * * *", "report", 20);
console.log(JSON.stringify({ listening: resonate.pid }));
