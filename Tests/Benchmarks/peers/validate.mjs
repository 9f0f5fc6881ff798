// ID tokens through panva's jose in Node, in one process: the same rules, keys and options as check_tokens. What the
// library leaves to its caller (nonce, at_hash, azp, an issue time in the future) is checked here.
//
// jose verifies on Node's thread pool, so --in-flight validations go on at once; with 1 it is one after the other.
import { createRequire } from "node:module";
import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const SKEW = 30;
const CLOCK_EVERY = 16;
// Debian's folder for it, which a Node from elsewhere does not look at.
const require = createRequire(import.meta.url);
const folder = "/usr/share/nodejs/jose";
const jose = require(folder);

const { values: option } = parseArgs({
  options: {
    tokens: { type: "string" },
    jwks: { type: "string" },
    algorithm: { type: "string" },
    issuer: { type: "string", default: "https://idp.example.com" },
    client: { type: "string", default: "bench" },
    seconds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "1" },
    verdicts: { type: "boolean", default: false },
  },
});

const keys = jose.createLocalJWKSet(JSON.parse(readFileSync(option.jwks, "utf8")));
const lines = readFileSync(option.tokens, "utf8").trimEnd().split("\n").map((line) => line.split("\t").slice(0, 3));
const rules = {
  issuer: option.issuer,
  audience: option.client,
  algorithms: [option.algorithm],
  clockTolerance: SKEW,
  requiredClaims: ["iss", "sub", "aud", "exp", "iat"],
};
const hash = option.algorithm === "EdDSA" ? "sha512" : "sha256";

async function validate([token, nonce, accessToken]) {
  const { payload } = await jose.jwtVerify(token, keys, rules);
  for (const name of ["sub", "exp", "iat"]) if (payload[name] === undefined) throw new Error(name);
  if ((payload.azp ?? option.client) !== option.client) throw new Error("azp");
  if (payload.nonce !== nonce) throw new Error("nonce");
  if (payload.iat > Date.now() / 1000 + SKEW) throw new Error("iat");
  if (payload.at_hash !== undefined) {
    const digest = createHash(hash).update(accessToken).digest();
    const half = Buffer.from(digest.subarray(0, digest.length / 2).toString("base64url"));
    const given = Buffer.from(payload.at_hash);
    if (half.length !== given.length || !timingSafeEqual(half, given)) throw new Error("at_hash");
  }
  return payload;
}

let next = 0;

async function run(seconds) {
  let done = 0;
  const end = performance.now() + seconds * 1e3;
  async function worker() {
    while (done % CLOCK_EVERY !== 0 || performance.now() < end) {
      done += 1;
      const line = lines[next];
      next = next + 1 === lines.length ? 0 : next + 1;
      await validate(line);
    }
  }
  await Promise.all(Array.from({ length: Number(option["in-flight"]) }, worker));
  return done;
}

if (option.verdicts) {
  const verdicts = [];
  for (const line of lines) verdicts.push(await validate(line).then(() => true, () => false));
  console.log(JSON.stringify({ verdicts }));
} else {
  const seconds = Number(option.seconds);
  await run(seconds / 10);
  const begin = performance.now();
  const cpu = process.cpuUsage();
  const validations = await run(seconds);
  const used = process.cpuUsage(cpu);
  console.log(
    JSON.stringify({
      validations,
      seconds: (performance.now() - begin) / 1e3,
      cpuSeconds: (used.user + used.system) / 1e6,
      version: `jose ${JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).version}, Node ${process.version}`,
    }),
  );
}
