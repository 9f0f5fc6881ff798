"use strict";

const { randomBytes } = require("node:crypto");
const { checkNames } = require("../names.js");
const { failure } = require("./answers.js");

const TOKEN_MS = 5 * 60 * 1000;
const LOGIN_MS = 10 * 60 * 1000;
const USER_OPTIONS = new Set(["subject", "issuer", "scope", "claims", "acr", "expiresAt", "kind"]);
const BROWSER_OPTIONS = new Set([...USER_OPTIONS, "error"]);
const ONLY = "only";

/** @param {number} ms */
function instant(ms) {
  return new Date(Date.now() + ms).toISOString();
}

/** As those of the sidecar: 256 random bits. */
function handle() {
  return randomBytes(32).toString("base64url");
}

/** The users who are logged in at a fake, and the logins that have begun. */
class Users {
  /** @param {(event: string, params: object) => void} emit */
  constructor(emit) {
    this.emit = emit;
    /** @type {Map<string, any>} */
    this.sessions = new Map();
    /** @type {Map<string, {issuer: string, redirectUri: string, scope?: string}>} */
    this.begun = new Map();
    /** @type {Map<string, any>} */
    this.codes = new Map();
  }

  /** Logs a user in, and returns the session. */
  login(given = {}) {
    checkNames("login", given, USER_OPTIONS);
    const { subject = "user-1", issuer = "corp", scope = "openid", kind = "user", acr, expiresAt } = given;
    const now = Math.floor(Date.now() / 1000);
    const session = {
      session: handle(),
      issuer,
      subject,
      kind,
      scope,
      createdAt: instant(0),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      accessTokenExpiresAt: instant(TOKEN_MS),
      claims: { iss: `https://${issuer}.invalid`, sub: subject, iat: now, ...given.claims },
      ...(acr === undefined ? {} : { acr }),
      authTime: now,
    };
    this.sessions.set(session.session, session);
    return session;
  }

  /** What the issuer and the user's browser do: the URL with which the browser comes back. */
  callbackUrl(authorizationUrl, given = {}) {
    const { error, ...user } = given;
    checkNames("callbackUrl", given, BROWSER_OPTIONS);
    const [, state = ""] = /[?&]state=([^&#]*)/.exec(String(authorizationUrl)) ?? [];
    const begun = this.begun.get(state);
    if (begun === undefined) throw new TypeError("callbackUrl needs the authorizationUrl of a login that has begun, and is not over");
    const back = new URL(begun.redirectUri);
    if (error === undefined) {
      const code = handle();
      this.codes.set(code, { issuer: begun.issuer, ...(begun.scope === undefined ? {} : { scope: begun.scope }), ...user });
      back.searchParams.set("code", code);
    } else {
      back.searchParams.set("error", error);
    }
    back.searchParams.set("state", state);
    return back.href;
  }

  /** Why a call with these params cannot act for its user; undefined when it can. */
  obstacle({ session, auth }) {
    if (session === undefined || session === null || session === "") {
      return auth === "user" || auth === "implicit" ? failure("not_authenticated", { detail: "session_missing" }) : undefined;
    }
    if (session === ONLY) return this.sessions.size > 0 ? undefined : failure("not_authenticated");
    return this.sessions.has(session) ? undefined : failure("session_not_found");
  }

  /** Answers of methods about sessions, by the client's name of the method. */
  get answers() {
    return {
      beginAuthorization: (params) => this.#begin(params),
      completeAuthorization: (params) => this.#complete(params),
      getSession: ({ session }) => this.#found(session),
      listSessions: (params) => this.#list(params),
      refreshSession: ({ session }) => this.#refresh(session),
      endSession: ({ session }) => this.#end(session),
    };
  }

  #begin({ issuer, redirectUri = "http://127.0.0.1/callback", scope, acrValues }) {
    const state = handle();
    this.begun.set(state, { issuer, redirectUri, scope });
    const url = new URL(`https://${issuer}.invalid/authorize`);
    const query = { response_type: "code", client_id: "fake", redirect_uri: redirectUri, scope, acr_values: acrValues?.join(" "), state };
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const isHTTPS = redirectUri.startsWith("https:");
    const attributes = `Path=/; Max-Age=${LOGIN_MS / 1000}; HttpOnly; ${isHTTPS ? "Secure; " : ""}SameSite=Lax`;
    const cookie = `${isHTTPS ? "__Host-" : ""}postern-login=${state}; ${attributes}`;
    return { authorizationUrl: url.href, state, cookie, expiresAt: instant(LOGIN_MS) };
  }

  #complete({ callbackUrl, state, replaces }) {
    const query = new URL(callbackUrl).searchParams;
    const begun = this.begun.get(state ?? "");
    if (query.get("state") !== state) return failure("authorization_failed", { detail: "state_mismatch" });
    if (begun === undefined) return failure("state_unknown");
    this.begun.delete(state);
    const user = this.codes.get(query.get("code") ?? "");
    this.codes.delete(query.get("code") ?? "");
    if (user === undefined) return failure("authorization_failed", { upstream: { code: query.get("error") ?? "invalid_grant" } });
    if (this.sessions.has(replaces)) this.#end(replaces);
    return this.login(user);
  }

  #found(session) {
    const found = session === ONLY ? this.sessions.values().next().value : this.sessions.get(session);
    return found ?? failure("session_not_found");
  }

  #list({ limit = 100, cursor }) {
    const all = [...this.sessions.values()];
    const start = cursor === undefined ? 0 : all.findIndex(({ session }) => session === cursor) + 1;
    const sessions = all.slice(start, start + limit);
    const isLast = start + limit >= all.length;
    return { sessions, ...(isLast ? {} : { nextCursor: sessions.at(-1).session }) };
  }

  #refresh(session) {
    const found = this.#found(session);
    if (!this.sessions.has(found.session)) return found;
    found.accessTokenExpiresAt = instant(TOKEN_MS);
    const { issuer, accessTokenExpiresAt } = found;
    this.emit("event.sessionRefreshed", { at: instant(0), session: found.session, issuer, accessTokenExpiresAt });
    return found;
  }

  #end(session) {
    const found = this.#found(session);
    if (!this.sessions.delete(found.session)) return found;
    this.emit("event.sessionEnded", { at: instant(0), session: found.session, issuer: found.issuer });
    return { ended: true, upstream: "none" };
  }
}

module.exports = { handle, instant, Users };
