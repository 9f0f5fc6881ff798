// The real sidecar and the real playground as child processes, stopped with the test.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./waiting.mjs";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
/** The path of `postern` or `playground`. */
export function binary(name) {
  return path.resolve(process.env[`${name.toUpperCase()}_BIN`] ?? `${root}.build/debug/${name}`);
}

export class Playground {
  static async start(...options) {
    const child = spawn(binary("playground"), ["--exit-with-stdin", ...options], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const failed = once(child, "exit").then(([status]) => {
      throw new Error(`the playground did not start (${status})`);
    });
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), failed]);
    failed.catch(() => {});
    return Object.assign(new Playground(), { child, ...JSON.parse(line) });
  }

  async stop() {
    const ended = once(this.child, "exit");
    this.child.stdin.end();
    await ended;
  }

  /** One request around the sidecar. */
  async ask(method, path, body) {
    const answer = await fetch(this.baseUrl + path, { method, body: body && JSON.stringify(body) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.headers.get("content-type")?.includes("json") ? answer.json() : answer.text();
  }
}

/** `orders` takes a device token, `mine` a user's, `payments` behind its gateway more than that, `open` none. */
function configuration(directory, playground) {
  const { baseUrl, issuer } = playground;
  const play = { issuer, clientId: "svc", clientAuth: "client_secret_basic", clientSecretFile: `${directory}/svc` };
  const shop = {
    issuer,
    clientId: "shop",
    clientAuth: "client_secret_basic",
    clientSecretFile: `${directory}/shop`,
    scope: "openid profile offline_access orders",
    redirectUri: "http://127.0.0.1/callback",
    accessManager: { baseUrl: `${baseUrl}/am`, realm: "alpha" },
  };
  return {
    listen: { path: `${directory}/postern.sock` },
    store: { kind: "memory" },
    issuers: { play, shop },
    resources: {
      orders: {
        baseUrl: `${baseUrl}/resource/`,
        issuer: "play",
        auth: "clientCredentials",
        scope: "orders",
        audience: `${baseUrl}/resource`,
      },
      mine: { baseUrl: `${baseUrl}/resource/`, issuer: "shop", auth: "user" },
      payments: { baseUrl: `${baseUrl}/gateway/`, issuer: "shop", auth: "user" },
      open: { baseUrl: `${baseUrl}/open/`, auth: "none" },
    },
    development: { plainHTTPOnLoopback: true },
  };
}

export class Sidecar {
  static start(playground, changes = {}) {
    return Sidecar.startWith((directory) => ({ ...configuration(directory, playground), ...changes }));
  }

  /** `configurationIn` gives the configuration, text or object, for a sidecar that has this directory for itself. */
  static async startWith(configurationIn) {
    const directory = await mkdtemp("/tmp/postern-node-");
    await writeFile(`${directory}/svc`, "svcsecret", { mode: 0o600 });
    await writeFile(`${directory}/shop`, "shopsecret", { mode: 0o600 });
    const sidecar = new Sidecar();
    sidecar.directory = directory;
    sidecar.socketPath = `${directory}/postern.sock`;
    sidecar.configuration = configurationIn(directory);
    await sidecar.configure(sidecar.configuration);
    await sidecar.run();
    return sidecar;
  }

  /** JSON is YAML. */
  configure(configuration) {
    const text = typeof configuration === "string" ? configuration : JSON.stringify(configuration);
    return writeFile(`${this.directory}/postern.yaml`, text);
  }

  async run() {
    this.child = spawn(binary("postern"), ["serve", "--config", `${this.directory}/postern.yaml`], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH, HOME: this.directory },
    });
    const { child } = this;
    process.once("exit", () => child.kill("SIGKILL"));
    let log = "";
    this.child.stderr.on("data", (data) => (log = (log + data).slice(-20_000)));
    this.exited = once(this.child, "exit");
    await eventually(async () => {
      if (this.child.exitCode !== null) throw new Error(`postern ended: ${log}`);
      return isListening(this.socketPath);
    });
  }

  /** The socket of the one before is gone: the next one may have its path. */
  isAway() {
    return eventually(async () => !(await isListening(this.socketPath)));
  }

  async kill(signal = "SIGTERM") {
    this.child.kill(signal);
    await this.exited;
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }
}

function isListening(path) {
  return new Promise((resolve) => {
    const socket = net.createConnection({ path });
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}

/** What the user's browser does: logs in, and comes back with this URL. */
export async function callbackUrl(playground, authorizationUrl, user = "alice") {
  await playground.ask("POST", "/playground/login", { user });
  const answer = await fetch(authorizationUrl, { redirect: "manual" });
  return answer.headers.get("location");
}

/** A user's session at the playground's provider. */
export async function login(client, playground) {
  const redirectUri = "http://127.0.0.1/callback";
  const { authorizationUrl, state } = await client.beginAuthorization({ issuer: "shop", redirectUri });
  return client.completeAuthorization({ callbackUrl: await callbackUrl(playground, authorizationUrl), state });
}

/** A user's session from a single sign-on token of the access manager. */
export async function signOn(client, playground, issuer = "shop", user = "alice") {
  const { tokenId } = await playground.ask("POST", "/playground/ssoTokens", { user });
  return client.createSession({ issuer, grant: { type: "sso", ssoToken: tokenId } });
}
