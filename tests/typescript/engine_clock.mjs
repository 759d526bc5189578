// Lets a JavaScript process tell the engine's time: `node --import ./engine_clock.mjs program.mjs`.
// Every response of the server names it, so before each function runs it is up to date.
let now = null;
const fetched = globalThis.fetch;
const real = Date.now;

globalThis.fetch = async (...request) => {
  const response = await fetched(...request);
  const told = response.headers.get("x-engine-now");
  if (told !== null) now = Number(told);
  return response;
};
Date.now = () => now ?? real();
