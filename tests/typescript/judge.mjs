// The SDK's own judgement: for each line of JSON whether it is a response, or a message, to it.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";

const require = createRequire(process.env.SDK_FROM + "/");
const types = new URL("network/types.js", pathToFileURL(require.resolve("@resonatehq/sdk")));
const { isMessage, isResponse } = await import(types);

for await (const line of createInterface({ input: process.stdin })) {
  const { message, response, kind, corrId } = JSON.parse(line);
  const takes =
    message === undefined
      ? isResponse(response) && response.kind === kind && response.head.corrId === corrId
      : isMessage(message);
  console.log(JSON.stringify(takes));
}
