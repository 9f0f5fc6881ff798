#!/usr/bin/env node
// postern-call METHOD [PARAMS]: one call, its result as JSON; 1 for an error of the sidecar, 2 for no answer.
import { Client, ConnectionError, PosternError } from "../index.mjs";

const [method, text = "{}"] = process.argv.slice(2);
if (method === undefined || method.startsWith("-")) {
  console.error("usage: postern-call METHOD [PARAMS as JSON]; the socket is POSTERN_SOCKET");
  process.exit(64);
}
let params;
try {
  params = JSON.parse(text);
} catch {
  console.error("the params are no JSON");
  process.exit(64);
}
try {
  console.log(JSON.stringify(await new Client().call(method, params), null, 2));
} catch (error) {
  if (!(error instanceof PosternError)) throw error;
  console.error(JSON.stringify({ code: error.code, message: error.message, data: error.data }, null, 2));
  process.exitCode = error instanceof ConnectionError ? 2 : 1;
}
