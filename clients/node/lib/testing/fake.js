"use strict";

const { once } = require("node:events");
const { mkdtemp, rm } = require("node:fs/promises");
const net = require("node:net");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { isDeepStrictEqual } = require("node:util");
const { Client } = require("../client.js");
const { didYouMean } = require("../names.js");
const { AdviceFirst, Failure, FetchResult, NO_URL } = require("./answers.js");
const { ServedConnection } = require("./connection.js");
const { BY_WIRE_NAME, document, methodNamed, Mismatch } = require("./contract.js");
const { handle, instant, Users } = require("./users.js");

const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");
const SUSPENDED_MS = 3 * 60 * 1000;
/** Params whose values an error may show: the others may be, or have, secrets. */
const SHOWN = new Set(["resource", "issuer", "provider", "method", "path", "task"]);
const NOT_FOUND = { code: -32601, message: "there is no such method", data: { reason: "method_not_found" } };

/** What a fake answers to the calls that match. Made by `FakePostern.when`. */
class Rule {
  #fake;
  #method;
  /** @type {any[]} */
  #answers = [];
  #used = 0;

  constructor(fake, method, match) {
    this.#fake = fake;
    this.#method = method;
    this.match = match;
  }

  /**
   * The answers of the calls that match, one after another; the last one is also that of all further calls. A function
   * gets the params, and returns one.
   */
  returns(...answers) {
    if (answers.length === 0) throw new TypeError("returns needs at least one answer");
    for (const answer of answers) this.#check(answer);
    this.#answers = answers;
    this.#fake.use(this);
    return this;
  }

  /** The calls that match fail with this reason; `data` has more members of the error. */
  fails(reason, data = {}) {
    return this.returns(new Failure(reason, data));
  }

  /** How many calls had an answer of this rule. */
  get uses() {
    return this.#used;
  }

  get method() {
    return this.#method;
  }

  /** Whether it has the answer to this call. */
  accepts(method, params) {
    if (method !== this.#method) return false;
    if (typeof this.match === "function") return this.match(params) === true;
    return Object.entries(this.match ?? {}).every(([name, value]) => {
      return value instanceof RegExp ? value.test(String(params[name] ?? "")) : isDeepStrictEqual(params[name], value);
    });
  }

  /** The next answer. */
  take() {
    const answer = this.#answers[Math.min(this.#used, this.#answers.length - 1)];
    this.#used += 1;
    return answer;
  }

  #check(answer) {
    if (typeof answer === "function") return;
    if (answer instanceof Failure) return void this.#method.errorOf(answer.reason);
    if (!(answer instanceof AdviceFirst)) return this.#method.checkResult(answer);
    if (this.#method.name !== "fetchResource") throw new TypeError(`only fetchResource waits for an advice, and not ${this.#method.name}`);
    this.#check(answer.after);
  }
}

/**
 * A sidecar for tests, in this process: it listens on a Unix socket, checks each call against the methods of the sidecar,
 * and answers as the test says.
 */
class FakePostern {
  /** @type {Rule[]} */
  #rules = [];
  /** @type {Set<ServedConnection>} */
  #connections = new Set();
  /** @type {string[]} */
  #problems = [];
  /** @type {Map<string, any>} */
  #suspended = new Map();
  /** @type {Map<string, any>} */
  #tasks = new Map();
  #users = new Users((event, params) => this.#tell(event, params));
  #server = net.createServer((socket) => this.#accept(socket));
  /** @type {Client | undefined} */
  #client;
  /** @type {string} */
  #directory = "";
  /** Every call so far, the oldest first.
   * @type {{method: string, params: any}[]} */
  calls = [];

  /** Starts a fake on a socket in a directory of its own. */
  static async start() {
    const fake = new FakePostern();
    fake.#directory = await mkdtemp(path.join(tmpdir(), "postern-fake-"));
    fake.#server.listen(fake.socketPath);
    await once(fake.#server, "listening");
    return fake;
  }

  /** The path of its socket. */
  get socketPath() {
    return path.join(this.#directory, "s");
  }

  /** The variables by which the clients of other processes find it. */
  get environment() {
    return { POSTERN_SOCKET: this.socketPath };
  }

  /** A client of this fake, which `stop` closes. */
  get client() {
    this.#client ??= new Client({ socketPath: this.socketPath });
    return this.#client;
  }

  /**
   * Says how calls of a method are answered. The newest rule that matches counts.
   * @param {string} method the client's name of it
   * @param {any} [match] params that the call must have (a regular expression matches a text), or a function
   */
  when(method, match) {
    const known = methodNamed(method);
    if (match !== undefined && typeof match !== "function") {
      const names = new Set(Object.keys(known.params.properties));
      for (const name of Object.keys(match)) {
        if (!names.has(name)) throw new TypeError(`${method} has no param ${name}${didYouMean(name, names)}`);
      }
    }
    return new Rule(this, known, match);
  }

  /** Called by a rule that has answers. */
  use(rule) {
    this.#rules = [rule, ...this.#rules.filter((one) => one !== rule)];
  }

  /** The params of all calls of a method. */
  callsTo(method) {
    const { name } = methodNamed(method);
    return this.calls.filter((call) => call.method === name).map(({ params }) => params);
  }

  /** Logs a user in: the session exists from now on, for every method. */
  login(user) {
    return { ...this.#users.login(user) };
  }

  /** What the issuer and the user's browser do: the URL with which the browser comes back from `authorizationUrl`. */
  callbackUrl(authorizationUrl, user) {
    return this.#users.callbackUrl(authorizationUrl, user);
  }

  /** Sends an event to all clients that have subscribed to it; returns how many. */
  emit(event, params) {
    const names = BY_WIRE_NAME.get("subscribe").params.properties.events.items.enum;
    if (!names.includes(event)) throw new TypeError(`there is no event ${event}${didYouMean(event, names)}`);
    return this.#tell(event, { at: instant(0), ...params });
  }

  /** Closes all connections, as a sidecar that is restarted. Clients connect again. */
  disconnect() {
    for (const { socket } of this.#connections) socket.destroy();
  }

  /** Throws an error that lists the calls for which nothing was set up, and the answers that no sidecar gives. */
  verify() {
    if (this.#problems.length > 0) throw new Error(this.#problems.join("\n"));
  }

  /** Forgets rules, calls, users and problems; the socket stays. */
  reset() {
    this.#rules = [];
    this.#problems = [];
    this.calls = [];
    this.#suspended.clear();
    this.#tasks.clear();
    this.#users = new Users((event, params) => this.#tell(event, params));
  }

  /** Closes the client, the connections and the socket. */
  async stop() {
    this.#client?.destroy();
    this.disconnect();
    await new Promise((resolve) => this.#server.close(() => resolve(undefined)));
    await rm(this.#directory, { recursive: true, force: true });
  }

  // The socket

  #accept(socket) {
    const connection = new ServedConnection(socket, {
      onMessage: (from, message) => void this.#message(from, message),
      onEnd: (from) => this.#connections.delete(from),
    });
    this.#connections.add(connection);
  }

  #tell(event, params) {
    const all = [...this.#connections].filter(({ events }) => events.has(event));
    for (const connection of all) connection.send({ method: event, params });
    return all.length;
  }

  async #message(connection, message) {
    const { id, method: wireName, params: given } = message;
    const params = given ?? {};
    if (wireName === undefined) return connection.asked.get(id)?.(message.result);
    if (wireName === "$/cancelRequest") return connection.running.get(params.id)?.("request_cancelled");
    const method = BY_WIRE_NAME.get(wireName);
    if (method === undefined) return id === undefined || connection.send({ id, error: NOT_FOUND });
    this.calls.push({ method: method.name, params });
    const outcome = await this.#bounded(connection, id, method, params);
    connection.running.delete(id);
    if (id !== undefined) this.#respond(connection, id, method, params, outcome);
  }

  /** The answer to a call, or the error that ends it before. */
  #bounded(connection, id, method, params) {
    const abort = new AbortController();
    /** @type {Promise<Failure>} */
    const ended = new Promise((resolve) => {
      connection.running.set(id, (reason) => resolve(new Failure(reason, {})));
    });
    const limits = [params.meta?.timeoutMs, params.timeoutMs].filter(Number.isInteger);
    const expire = () => connection.running.get(id)?.("deadline_exceeded");
    const timer = limits.length > 0 ? setTimeout(expire, Math.min(...limits)) : undefined;
    ended.then(() => abort.abort());
    return Promise.race([ended, this.#answer(connection, method, params, abort.signal)]).finally(() => clearTimeout(timer));
  }

  async #answer(connection, method, params, signal) {
    try {
      method.checkParams(params);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      return new Failure("invalid_params", { path: error.path, message: error.message });
    }
    try {
      return await this.#found(connection, method, params, signal);
    } catch (error) {
      return this.#problem(error instanceof Error ? error.message : String(error));
    }
  }

  #problem(message) {
    this.#problems.push(message);
    return new Failure("internal_error", { message });
  }

  async #found(connection, method, params, signal) {
    const resumed = method.name === "fetchResource" ? this.#resumed(params) : undefined;
    if (resumed !== undefined) return resumed;
    const rule = this.#rules.find((one) => one.accepts(method, params));
    const own = rule === undefined ? this.#ownAnswer(connection, method.name, params) : undefined;
    if (own !== undefined) return own;
    if (rule === undefined) return this.#problem(this.#unexpected(method, params));
    // A rule for one of these methods says itself which sessions there are.
    const obstacle = Object.hasOwn(this.#users.answers, method.name) ? undefined : this.#users.obstacle(params);
    if (obstacle !== undefined && method.errors.some(({ data }) => data.reason === obstacle.reason)) return obstacle;
    return this.#settled(connection, method, params, rule.take(), signal);
  }

  /** The result that an answer of a rule stands for. */
  async #settled(connection, method, params, given, signal) {
    const answer = typeof given === "function" ? await given(params, { signal }) : given;
    if (answer instanceof Failure) return method.errorOf(answer.reason) && answer;
    if (answer instanceof AdviceFirst) return this.#advised(connection, method, params, answer, signal);
    method.checkResult(answer);
    return method.name === "fetchResource" ? this.#fetched(params, answer) : answer;
  }

  // What the fake knows by itself

  #ownAnswer(connection, name, params) {
    if (Object.hasOwn(this.#users.answers, name)) return this.#users.answers[name](params);
    switch (name) {
      case "discover":
        return document;
      case "subscribe":
        for (const event of params.events) connection.events.add(event);
        return { subscribed: [...connection.events] };
      case "unsubscribe":
        for (const event of params.events) connection.events.delete(event);
        return { subscribed: [...connection.events] };
      case "registerDelegate":
        connection.delegates = new Set(params.methods);
        return { registered: params.methods };
      case "getTask":
        return this.#tasks.get(params.task) ?? new Failure("task_not_found", {});
      case "listTasks":
        return { tasks: [...this.#tasks.values()].filter(({ state }) => state === (params.state ?? state)) };
      case "authenticateWithAdvice":
        return this.#satisfied(params);
      default:
        return undefined;
    }
  }

  #unexpected(method, params) {
    const shown = Object.entries(params).filter(([name, value]) => SHOWN.has(name) && typeof value === "string");
    const match = shown.map(([name, value]) => `${name}: ${JSON.stringify(value.split("?", 1)[0])}`).join(", ");
    const others = Object.keys(params).filter((name) => !shown.some(([one]) => one === name));
    const more = others.length > 0 ? ` with ${others.join(", ")}` : "";
    const rules = this.#rules.filter((rule) => rule.method === method).length;
    const existing = rules > 0 ? `; of the ${rules} rules for it none matches` : "";
    const answer = method.name === "fetchResource" ? "FetchResult.of(200, { json: {} })" : "result";
    const where = match === "" ? "" : `, { ${match} }`;
    return `nothing is set up for this call of ${method.name}${more}${existing}: fake.when("${method.name}"${where}).returns(${answer})`;
  }

  // Fetches

  #fetched(params, given) {
    const task = params.task ?? given.task;
    const url = given.url === NO_URL ? urlOf(params) : given.url;
    const receivedBytes = Buffer.byteLength(given.body ?? "") + Buffer.byteLength(given.bodyBase64 ?? "", "base64");
    const sentBytes = Buffer.byteLength(params.body ?? "") + Buffer.byteLength(params.bodyBase64 ?? "", "base64");
    const method = (params.method ?? "GET").toUpperCase();
    this.#tasks.set(task, { task, state: "completed", method, url, startedAt: instant(0), receivedBytes, sentBytes });
    return { ...given, task, url };
  }

  async #advised(connection, method, params, { advice, after }, signal) {
    const continuation = handle();
    const suspended = { advice, after, params, isSatisfied: false };
    this.#suspended.set(continuation, suspended);
    const NAME = "delegate.onPolicyAdviceReceived";
    const finish = async () => {
      this.#suspended.delete(continuation);
      const result = await this.#settled(connection, method, params, after, signal);
      return result instanceof Failure ? result : { ...result, advicesSatisfied: [...result.advicesSatisfied, advice] };
    };
    suspended.finish = finish;
    if (!connection.delegates.has(NAME)) return this.#refusal(continuation, suspended);
    const task = params.task ?? `task-${continuation}`;
    const answer = await connection.ask(NAME, { task, session: params.session ?? "", advices: [advice], continuation });
    if (answer?.satisfied === true) return finish();
    this.#suspended.delete(continuation);
    return new Failure("advice_failed", { advice, advices: [advice] });
  }

  #refusal(continuation, { advice, params }) {
    const response = this.#fetched(params, FetchResult.of(401));
    const data = { advice, advices: [advice], response, continuation, expiresAt: instant(SUSPENDED_MS) };
    return new Failure("advice_required", data);
  }

  /** The fetch that waited, with its continuation. */
  #resumed({ continuation }) {
    if (continuation === undefined || continuation === null) return undefined;
    const suspended = this.#suspended.get(continuation);
    if (suspended === undefined) return new Failure("continuation_unknown", {});
    return suspended.isSatisfied ? suspended.finish() : this.#refusal(continuation, suspended);
  }

  /** A user who does what the advice asks for, at once. */
  #satisfied({ continuation }) {
    const suspended = this.#suspended.get(continuation);
    if (suspended === undefined) return continuation === undefined ? undefined : new Failure("continuation_unknown", {});
    suspended.isSatisfied = true;
    const { session } = suspended.params;
    return { state: "completed", continuation, ...(session ? { session } : {}), sessionUpgraded: true };
  }

  // Responses

  #respond(connection, id, method, params, outcome) {
    if (outcome instanceof Failure) {
      const { code, message } = method.errorOf(outcome.reason);
      const { message: own, ...more } = outcome.data;
      const data = { reason: outcome.reason, ...factsOf(method, outcome.reason), ...more };
      return connection.send({ id, error: { code, message: own ?? message, data } });
    }
    if (method.name !== "fetchResource" || params.stream !== true) return connection.send({ id, result: outcome });
    const { body, bodyBase64, ...result } = outcome;
    const bytes = body === undefined ? Buffer.from(bodyBase64 ?? "", "base64") : Buffer.from(body);
    const { task, status, reason, url, headers } = result;
    if (params.streamHead === true) connection.send({ method: "fetchResource.head", params: { task, status, reason, url, headers } });
    connection.sendBody(task, bytes, params.bodyAs === "frames");
    connection.send({ id, result });
  }
}

// Reasons after which the same fetch may succeed, and those with which a server has answered.
const RETRYABLE = new Set([
  ...["overloaded", "shutting_down", "deadline_exceeded", "network_unreachable", "server_unreachable", "store_unavailable"],
  ...["token_endpoint_unreachable", "audit_unavailable"],
]);
const REPLIED = new Set(["advice_required", "advice_failed", "response_too_large", "protocol_error", "payload_encryption_failed"]);

/** The params that these errors are about. */
const PATHS = { session_not_found: "/session", continuation_unknown: "/continuation", task_not_found: "/task" };

/** What an error says beside its reason: the param that it is about; of a fetch, whether it was sent, and a retry helps. */
function factsOf(method, reason) {
  if (Object.hasOwn(PATHS, reason)) return { path: PATHS[reason] };
  if (method.name !== "fetchResource") return {};
  const outcome = reason === "deadline_exceeded" ? "sent_no_reply" : REPLIED.has(reason) ? "replied" : "not_sent";
  return { retryable: RETRYABLE.has(reason), outcome };
}

/** The URL of a fetch: absolute, or of a resource that does not exist. */
function urlOf({ resource = "resource", path: relative = "", parameters, method = "GET" }) {
  const url = new URL(relative.replace(/^\/+/, ""), `https://${resource}.invalid/`);
  if (["GET", "HEAD"].includes(method.toUpperCase())) {
    for (const [name, value] of Object.entries(parameters ?? {})) {
      const [own, values] = Array.isArray(value) ? [`${name}[]`, value] : [name, [value]];
      for (const one of values) url.searchParams.append(own, String(one));
    }
  }
  return url.href;
}

Object.defineProperty(FakePostern.prototype, asyncDispose, { value: FakePostern.prototype.stop });

module.exports = { FakePostern };
