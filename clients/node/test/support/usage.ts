// Compiled, never run: what a program may write, and (@ts-expect-error) what it may not.
import { AdviceRequired, Client, createDispatcher, createFetch, FetchFailed, LoginRequired, PosternError, protect, SessionError } from "postern-auth";
import { adviceRequired, failure, FakePostern, FetchResult } from "postern-auth/testing";
import type { Accepted, GetInfoResult, Grant, Journey } from "postern-auth";

declare const request: { session?: string };

export async function usage(signal: AbortSignal): Promise<void> {
  const client = new Client({ socketPath: "/run/postern/postern.sock", timeoutMs: 1000 });
  const info: GetInfoResult = await client.getInfo();
  info.libraries.openssl.toUpperCase();

  const result = await client.fetchResource({ resource: "billing", headers: { a: "b", c: ["d"] } }, { signal });
  result.headers["content-type"]?.[0]?.toUpperCase();
  await client.fetchResource({ method: "POST", body: new Blob(["a"]) });
  await client.fetchResource({ method: "POST", body: new FormData(), headers: { a: "b" } });
  await client.stream({ method: "POST", body: new Uint8Array(3) }).result;
  // @ts-expect-error a plain object is no body
  await client.fetchResource({ method: "POST", body: { a: 1 } });
  // @ts-expect-error no such param
  await client.fetchResource({ resorce: "billing" });
  // @ts-expect-error session is needed
  await client.endSession({});
  // @ts-expect-error params are needed
  await client.getSession();
  const begun = await client.beginAuthorization({ issuer: "corp" });
  begun.cookie?.toUpperCase();
  await client.completeAuthorization({ callbackUrl: "https://a.example/callback?x", state: begun.state, replaces: "s" });
  // @ts-expect-error without the browser's own state
  await client.completeAuthorization({ callbackUrl: "https://a.example/callback?x" });
  for (const session of [undefined, null, "only"]) await client.fetchResource({ session });
  // @ts-expect-error not one of the kinds
  await client.fetchResource({ auth: "root" });

  const verdict = await client.validateIdToken({ idToken: "t", issuer: "corp" });
  if (verdict.valid) verdict.claims.sub;
  else verdict.error.code.toUpperCase();

  const journey: Journey = await client.authenticate({ issuer: "corp" });
  if (journey.state === "callbacks") journey.callbacks.length;
  else if (journey.state === "failed") journey.error.message.toUpperCase();
  // @ts-expect-error only with callbacks
  journey.callbacks;

  const grant: Grant = { type: "refresh_token", refreshToken: "r" };
  await client.createSession({ issuer: "corp", grant });
  // @ts-expect-error a refresh token is needed
  await client.createSession({ issuer: "corp", grant: { type: "refresh_token" } });

  await client.setDelegates({
    async onPolicyAdviceReceived({ continuation, advices }, { signal }) {
      const walked = await client.authenticateWithAdvice({ continuation }, { signal });
      return { satisfied: walked.state === "completed" && advices.length > 0 };
    },
    evaluateTokenRefresh: ({ status }) => ({ refresh: status === 419 }),
  });
  // @ts-expect-error must say whether
  await client.setDelegates({ evaluateTokenRefresh: () => ({}) });

  client.on("event.sessionEnded", ({ session }) => session.toUpperCase());
  client.on("disconnected", (error) => error.reason);
  // @ts-expect-error no such event
  client.on("event.sessionended", () => {});
  for await (const one of client.events(["event.keysRotated", "event.healthChanged"], { signal })) {
    if (one.event === "event.keysRotated") one.params.added.length;
    else one.params.status === "down";
  }

  for await (const { subject } of client.sessions({ limit: 500 }, { signal })) subject?.toUpperCase();
  for await (const { state } of client.tasks()) state === "running";

  const { body, result: streamed } = client.stream({ path: "export" });
  const bytes: Uint8Array | undefined = (await body.getReader().read()).value;
  bytes?.byteLength.toFixed();
  (await streamed).attempts.toFixed();
  for await (const piece of client.stream({ path: "export" }).body) piece.byteLength.toFixed();
  const own: Client = new Client({
    delegates: { onPolicyAdviceReceived: async () => ({ satisfied: (await own.getInfo()).name !== "" }) },
  });
  (await client.stream({ path: "export" }).head).status.toFixed();

  const get = createFetch({ client, resource: "billing" });
  const plain: typeof fetch = get;
  const response = await get("invoices", { method: "POST", body: new FormData(), redirect: "manual", signal });
  const whole: Response = response;
  whole.headers.append("x", "y");
  response.postern.attempts.toFixed();
  response.headers.get("x");
  const { postern } = await createFetch({ client, streaming: true })("invoices");
  (await postern.result).attempts.toFixed();
  await plain(new URL("https://api.example.com/"));
  for (const session of [request.session, undefined, null, ""]) await get("invoices", { session });
  // @ts-expect-error a misspelt member
  await get("invoices", { sesion: request.session });
  // @ts-expect-error a member without effect
  await get("invoices", { credentials: "include" });
  const storage = { getStore: () => request.session };
  for (const session of [storage, () => request.session, async () => request.session, "only", undefined, null]) {
    createFetch({ client, session });
  }
  const dispatcher = createDispatcher({ client, resource: "billing", session: "only" });
  dispatcher.client.socketPath.toUpperCase();
  await dispatcher.close();
  // @ts-expect-error not an option
  createDispatcher({ sesion: "only" });
  // @ts-expect-error not a session
  createFetch({ client, session: 1 });

  try {
    await client.health();
  } catch (error) {
    if (error instanceof AdviceRequired) error.continuation?.toUpperCase();
    if (error instanceof LoginRequired && error.reason === "session_expired") error.upstream?.code;
    if (error instanceof SessionError && error.reason === "authorization_failed") error.upstream?.code;
    if (error instanceof PosternError && error.outcome === "not_sent" && error.retryable) error.path;
    if (error instanceof FetchFailed) error.cause.method;
    // @ts-expect-error a misspelt reason
    if (error instanceof PosternError && error.reason === "sesion_expired") error.path;
    // @ts-expect-error a misspelt reason
    if (error instanceof FetchFailed && error.reason === "conection_lost") error.code;
  }
  client.ref().unref();
  await client.close();
  await client[Symbol.asyncDispose]();

  const check = protect(client, { issuer: "corp", audience: "https://orders.example.com", requiredScopes: ["orders:read"] });
  const req = { method: "GET", url: "/", rawHeaders: [] as string[], postern: undefined as Accepted | undefined };
  const res = { statusCode: 200, setHeader: (_: string, __: string) => {}, end: () => {} };
  await check(req, res, () => req.postern?.claims["sub"]);
  // @ts-expect-error not one of the kinds
  protect(client, { audience: "a", dpop: "maybe" });
}

export async function testing(): Promise<void> {
  const fake = await FakePostern.start();
  const { session } = fake.login({ subject: "alice", claims: { admin: true } });
  fake.when("fetchResource", { resource: "orders", path: /^orders/ }).returns(FetchResult.of(200, { json: [1] }));
  fake.when("fetchResource").returns(failure("server_unreachable"), async ({ path }) => FetchResult.of(path === "a" ? 200 : 404));
  fake.when("fetchResource", ({ session: own }) => own === session).returns(
    adviceRequired({ type: "AuthenticateToService" }, FetchResult.of(200, { text: "done" })),
  );
  fake.when("endSession").fails("store_unavailable", { retryable: true });
  fake.when("pass.authorize").returns({ mvpd: "Cablevision", decisions: [] });
  // @ts-expect-error no such reason
  fake.when("endSession").fails("store_unavailabel");
  // @ts-expect-error no such method
  fake.when("fetchResorce");
  // @ts-expect-error no such param
  fake.when("endSession", { sesion: "s" });
  // @ts-expect-error the result of another method
  fake.when("endSession").returns(FetchResult.of(200));
  const [first] = fake.callsTo("fetchResource");
  first?.path?.toUpperCase();
  for (const call of fake.calls) if (call.method === "endSession") call.params.session.toUpperCase();
  fake.emit("event.sessionEnded", { session, issuer: "corp" });
  const client: Client = fake.client;
  await client.getInfo();
  fake.verify();
  await fake.stop();
}
