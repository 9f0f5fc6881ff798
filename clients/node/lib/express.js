"use strict";

const { timingSafeEqual } = require("node:crypto");
const { cookiesFor } = require("./cookies.js");
const { AdviceRequired, LoginRequired } = require("./errors.js");
const { FetchFailed } = require("./fetch.js");
const { formField } = require("./form.js");
const { decoded, localPath } = require("./local-path.js");
const { PROBLEMS, isPassing, problemOf } = require("./login-problems.js");
const { checkNames } = require("./names.js");
const { pageOf, send, sendJSON, sendPage, sendRedirect } = require("./pages.js");
const { PendingLogins } = require("./pending-logins.js");
const { baseOf, targetOf } = require("./public-url.js");

const TIMEOUT_MS = 10_000; // the browser waits for it
// A browser can send any text, also `only`, which would be another user's session.
const HANDLE = /^[\w-]{43}$/;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;
const OPTIONS = new Set([
  ...["issuer", "publicUrl", "prefix", "home", "cookie", "maxAgeSeconds", "authorization", "timeoutMs"],
  ...["page", "onError"],
]);
const AUTHORIZATION = new Set(["scope", "prompt", "acrValues", "maxAge", "loginHint", "resource"]);

/** The options with their defaults; a `TypeError` where they are not right. */
function checked(given) {
  checkNames("createLogin", given, OPTIONS);
  const { issuer, publicUrl, prefix = "", home, cookie = "postern", maxAgeSeconds, authorization = {} } = given;
  const { timeoutMs = TIMEOUT_MS, page = pageOf, onError = () => {} } = given;
  checkNames("authorization", authorization, AUTHORIZATION);
  if (typeof publicUrl !== "string") {
    throw new TypeError("createLogin needs publicUrl, how browsers reach it: the Host header is its sender's");
  }
  const url = new URL(baseOf(publicUrl));
  const isReadable = url.protocol === "http:" && !LOOPBACK.test(url.hostname);
  const hasAge = maxAgeSeconds === undefined || (Number.isInteger(maxAgeSeconds) && maxAgeSeconds > 0);
  /** @type {[boolean, string][]} */
  const rules = [
    [typeof issuer === "string" && issuer !== "", "createLogin needs issuer, a name in the sidecar's configuration"],
    [url.username === "" && url.password === "", "publicUrl has no user and no password"],
    [!isReadable, "publicUrl is https, or http on loopback: without TLS anyone can read the cookies"],
    [prefix === "" || (localPath(prefix) === prefix && !/[?#]|\/$/.test(prefix)), "prefix is a path such as /auth"],
    [/^[\w-]+$/.test(cookie), "cookie is a name of letters, digits, hyphens and underscores"],
    [hasAge, "maxAgeSeconds is a whole number over 0"],
    [Number.isFinite(timeoutMs) && timeoutMs > 0, "timeoutMs is a number over 0"],
  ];
  for (const [isRight, message] of rules) if (!isRight) throw new TypeError(message);
  return { issuer, url, prefix, home, cookie, maxAgeSeconds, authorization, timeoutMs, page, onError };
}

/** The routes and middlewares of an application. It keeps nothing: what it knows of a browser is in its cookies. */
class WebLogin {
  constructor(client, given) {
    this.client = client;
    this.options = checked(given);
    const { url, prefix, home, cookie, timeoutMs } = this.options;
    this.calling = { timeoutMs };
    this.origin = url.origin;
    this.base = url.pathname.replace(/\/$/, "");
    this.home = `${this.base}/`;
    this.redirectUri = `${url.origin}${this.base}${prefix}/callback`;
    this.cookies = cookiesFor(url.protocol === "https:");
    this.sessionCookie = `${cookie}-session`;
    this.pending = new PendingLogins(this.cookies, `${cookie}-login`);
    this.table = new Map([
      [`${this.base}${prefix}/login`, { method: "GET", act: this.login }],
      [`${this.base}${prefix}/callback`, { method: "GET", act: this.callback }],
      [`${this.base}${prefix}/logout`, { method: "POST", act: this.logout }],
      [`${this.base}${prefix}/backchannel-logout`, { method: "POST", act: this.backchannelLogout }],
    ]);
    if (home !== undefined && this.ownPath(home) !== home) {
      throw new TypeError("home is a path of the application, as browsers see it");
    }
    this.home = home ?? this.home;
  }

  // MARK: - Paths

  /** The target of a request in browsers. A front may take the path of `publicUrl` away, or leave it. */
  targetOf(req) {
    const target = targetOf(req);
    return this.isBelow(target) ? target : this.base + target;
  }

  /** Whether a path is one of the application, where others have their own at the same host. */
  isBelow(target) {
    const path = target.split(/[?#]/, 1)[0];
    return path === this.base || path.startsWith(`${this.base}/`);
  }

  routeOf(req) {
    return this.table.get(this.targetOf(req).split("?", 1)[0]);
  }

  /** The path that a browser may be sent to: one of this application, else its home page. */
  ownPath(text) {
    const path = localPath(text);
    if (path === undefined || !this.isBelow(path)) return this.home;
    // From a route of the login a browser would get nowhere.
    const plain = decoded(path.split(/[?#]/, 1)[0]).replace(/\/$/, "");
    return this.table.has(plain) ? this.home : path;
  }

  /** The path of the requested page in browsers; a form cannot be sent a second time, so it leads home. */
  pageOf(req) {
    return isReading(req) ? this.ownPath(this.targetOf(req)) : this.home;
  }

  loginPath(target) {
    const next = target === this.home ? "" : `?next=${encodeURIComponent(target)}`;
    return `${this.base}${this.options.prefix}/login${next}`;
  }

  // MARK: - Answers

  problem(res, kind, target = this.home) {
    const [status, title, text] = PROBLEMS[kind];
    const links = { notSufficient: [target, "Try again"], foreignLogout: [this.home, "Back"] };
    const [link, linkText] = links[kind] ?? [this.loginPath(target), "Log in"];
    sendPage(res, status, this.options.page({ kind, status, title, text, link, linkText }));
  }

  /** The program's log gets what an operator needs, and the browser what a user may see. */
  failed(req, res, error, target) {
    const kind = problemOf(error);
    if (kind === undefined) throw error;
    this.options.onError(error, req);
    this.problem(res, kind, target);
  }

  /** Leads to the login. After a session that has ended by a click: a redirect might be one of an endless chain. */
  loginRequired(req, res) {
    if (!isNavigation(req)) return sendJSON(res, 401, { error: "login_required" });
    const target = this.pageOf(req);
    if (this.cookies.get(req, this.sessionCookie) === undefined) return sendRedirect(res, this.loginPath(target));
    this.problem(res, "ended", target);
  }

  // MARK: - Sessions

  handleOf(req) {
    // A WebSocket can be read by the page that opened it, of whatever site, and brings the cookies of this one.
    const isSocket = req.headers.upgrade !== undefined || req.headers["sec-websocket-key"] !== undefined;
    if (isSocket && req.headers.origin !== this.origin) return undefined;
    const handle = this.cookies.get(req, this.sessionCookie);
    return handle !== undefined && HANDLE.test(handle) ? handle : undefined;
  }

  /** The session of this browser, if it is live, of this issuer and not too old. */
  async sessionOf(req) {
    const { issuer, maxAgeSeconds } = this.options;
    const handle = this.handleOf(req);
    if (handle === undefined) return undefined;
    const session = await this.client.getSession({ session: handle }, this.calling).catch((error) => {
      if (!(error instanceof LoginRequired)) throw error;
    });
    if (session?.issuer !== issuer || session.kind !== "user") return undefined;
    const isOld = maxAgeSeconds !== undefined && Date.now() - Date.parse(session.createdAt) > maxAgeSeconds * 1000;
    if (isOld) await this.end(req, handle);
    return isOld || isOver(session) ? undefined : session;
  }

  /** Ends a session, here and at the issuer. The browser does without it whatever comes of that. */
  async end(req, session) {
    try {
      await this.client.endSession({ session }, this.calling);
    } catch (error) {
      if (!(error instanceof LoginRequired)) this.options.onError(error, req);
    }
  }

  // MARK: - Routes

  /** Begins a login, in addition to those of other tabs. A session that the browser has may be another user's. */
  async login(req, res, query) {
    const { issuer, authorization } = this.options;
    const target = this.ownPath(query.get("next"));
    try {
      const params = { ...authorization, issuer, redirectUri: this.redirectUri };
      const { authorizationUrl, state } = await this.client.beginAuthorization(params, this.calling);
      this.pending.add(res, { kind: "login", secret: state, target }, this.pending.of(req));
      sendRedirect(res, authorizationUrl);
    } catch (error) {
      this.failed(req, res, error, target);
    }
  }

  /** Completes what this browser has begun, and nothing else. */
  async callback(req, res, query) {
    const callbackUrl = `${this.redirectUri}${targetOf(req).replace(/^[^?]*/, "")}`;
    const pending = this.pending.of(req);
    const state = query.get("state") ?? "";
    const login = pending.find(({ kind, secret }) => kind === "login" && isSame(secret, state));
    if (login !== undefined) return this.completeLogin(req, res, login, callbackUrl, pending);
    // The state of a step-up may be known to the issuer only. The sidecar takes no other callback for a continuation.
    for (const stepUp of pending.filter(({ kind }) => kind === "stepUp").reverse()) {
      if (await this.completesStepUp(req, res, stepUp, callbackUrl, pending)) return;
    }
    await this.notBegunHere(req, res, this.home);
  }

  /** A callback that is not one of this browser's logins, or not any more: of a page that is loaded again. */
  async notBegunHere(req, res, target) {
    try {
      if (await this.sessionOf(req)) return sendRedirect(res, target);
    } catch (error) {
      return this.failed(req, res, error, target);
    }
    this.problem(res, "notBegunHere", target);
  }

  async completeLogin(req, res, login, callbackUrl, pending) {
    const target = this.ownPath(login.target);
    // What another login has done does not count for this one.
    const over = pending.filter((entry) => entry === login || entry.kind === "done");
    try {
      const params = { callbackUrl, state: login.secret, replaces: this.handleOf(req) };
      const user = await this.client.completeAuthorization(params, this.calling);
      // A new cookie, whatever the browser had: a handle that someone else has planted is of no use to them.
      this.cookies.set(res, this.sessionCookie, user.session, this.options.maxAgeSeconds);
      this.pending.remove(res, over);
      sendRedirect(res, target);
    } catch (error) {
      // A login that can still succeed, when the page is loaded again, stays.
      if (!isPassing(error)) this.pending.remove(res, over);
      if (problemOf(error) !== "notBegunHere") return this.failed(req, res, error, target);
      this.options.onError(error, req);
      await this.notBegunHere(req, res, target);
    }
  }

  async logout(req, res) {
    if (!this.isOwnPage(req)) return this.problem(res, "foreignLogout");
    const session = this.handleOf(req);
    this.cookies.clear(res, this.sessionCookie);
    if (session !== undefined) await this.end(req, session);
    sendRedirect(res, this.home);
  }

  /** No other site logs a user out, and no other host of this site. Every browser sends one of these fields. */
  isOwnPage({ headers }) {
    const site = headers["sec-fetch-site"];
    return site === undefined ? headers.origin === this.origin : site === "same-origin";
  }

  /**
   * OpenID Connect Back-Channel Logout 1.0, sections 2.5 to 2.8: 200, 400 for what is no valid token, and 503 where
   * nothing was judged: the issuer may send the token again.
   */
  async backchannelLogout(req, res) {
    const reject = (error, description, status = 400) => {
      sendJSON(res, status, { error, error_description: description });
    };
    const logoutToken = await formField(req, "logout_token");
    if (logoutToken === undefined) {
      res.shouldKeepAlive = false; // a body may be left that is not read
      return reject("invalid_request", "a form of at most 64 KiB with exactly one logout_token is expected");
    }
    try {
      const params = { issuer: this.options.issuer, logoutToken, end: true };
      const { valid, error } = await this.client.validateLogoutToken(params, this.calling);
      if (!valid) return reject("invalid_request", error.message);
    } catch (error) {
      this.options.onError(error, req);
      return reject("temporarily_unavailable", "the logout cannot be carried out now", 503);
    }
    send(res, 200);
  }

  // MARK: - Step-up (RFC 9470)

  /** Sends the browser to the issuer for a stronger login, after which the page is loaded again. */
  async adviceRequired(req, res, { continuation }) {
    if (!isNavigation(req)) return sendJSON(res, 403, { error: "stronger_login_required" });
    const target = this.pageOf(req);
    const pending = this.pending.of(req);
    const done = pending.filter((entry) => entry.kind === "done" && entry.target === target);
    if (done.length > 0) {
      this.pending.remove(res, done);
      return this.problem(res, "notSufficient", target);
    }
    if (continuation === undefined) return this.problem(res, "unavailable", target);
    try {
      const step = await this.client.authenticateWithAdvice({ continuation }, this.calling);
      this.nextStep(res, step, target, pending);
    } catch (error) {
      this.failed(req, res, error, target);
    }
  }

  /** Whether the callback is this step-up's: it has then been answered. */
  async completesStepUp(req, res, stepUp, callbackUrl, pending) {
    const target = this.ownPath(stepUp.target);
    try {
      const params = { continuation: stepUp.secret, answers: { RedirectCallback: callbackUrl } };
      const step = await this.client.authenticateWithAdvice(params, this.calling);
      this.pending.remove(res, [stepUp]);
      this.nextStep(res, step, target, pending.filter((entry) => entry !== stepUp));
    } catch (error) {
      if (error.reason === "state_unknown") return false;
      if (!isPassing(error)) this.pending.remove(res, [stepUp]);
      this.failed(req, res, error, target);
    }
    return true;
  }

  nextStep(res, step, target, pending) {
    if (step.state === "completed") {
      this.pending.add(res, { kind: "done", secret: "", target }, pending);
      return sendRedirect(res, target);
    }
    const [callback, ...more] = step.callbacks ?? [];
    const url = callback?.output?.find(({ name }) => name === "redirectUrl")?.value;
    if (callback?.type !== "RedirectCallback" || more.length > 0 || url === undefined) {
      return this.problem(res, "notSufficient", target);
    }
    this.pending.add(res, { kind: "stepUp", secret: step.continuation, target }, pending);
    sendRedirect(res, url);
  }

  // MARK: - Middlewares

  async routes(req, res, next) {
    const route = this.routeOf(req);
    if (route === undefined) return next();
    if (req.method !== route.method) {
      res.setHeader("Allow", route.method);
      return send(res, 405, "text/plain; charset=utf-8", `Only ${route.method} is possible here.\n`);
    }
    try {
      const query = targetOf(req).replace(/^[^?]*/, "");
      await route.act.call(this, req, res, new URLSearchParams(query));
    } catch (error) {
      next(error);
    }
  }

  async currentSession(req, res, next) {
    delete req.posternSession;
    try {
      // The routes look for themselves: a logout does without the sidecar.
      const session = this.routeOf(req) ? undefined : await this.sessionOf(req);
      if (session !== undefined) {
        req.posternSession = session;
        // A page of a user is not for a cache. The application can replace this.
        res.setHeader("Cache-Control", "no-store");
      }
    } catch (error) {
      return next(error);
    }
    next();
  }

  async requireSession(req, res, next) {
    if (req.posternSession !== undefined) return next();
    await this.currentSession(req, res, (error) => {
      if (error !== undefined) return next(error);
      return req.posternSession === undefined ? this.loginRequired(req, res) : next();
    });
  }

  async handleErrors(given, req, res, next) {
    const error = given instanceof FetchFailed ? given.cause : given;
    if (res.headersSent) return next(given);
    try {
      // With a live session no login helps: the program has not named it, or it is another issuer's.
      if (error instanceof LoginRequired && !(await this.sessionOf(req))) return this.loginRequired(req, res);
      if (error instanceof AdviceRequired) return await this.adviceRequired(req, res, error);
    } catch (another) {
      return next(another);
    }
    next(given);
  }
}

/** Whether a session has expired, or its issuer has ended it: the sidecar still shows such a session. */
function isOver({ expiresAt }) {
  return expiresAt !== undefined && !(Date.parse(expiresAt) > Date.now());
}

function isReading({ method }) {
  return method === "GET" || method === "HEAD";
}

/** Whether a page is to be shown, and not a script's request to be answered. */
function isNavigation({ headers }) {
  const mode = headers["sec-fetch-mode"];
  return mode === undefined ? /text\/html/i.test(headers.accept ?? "") : mode === "navigate";
}

function isSame(one, other) {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** Login, logout and the session of a web application's users, for Express and `node:http`. */
function createLogin(client, options = {}) {
  const login = new WebLogin(client, options);
  return {
    routes: (req, res, next) => login.routes(req, res, next),
    currentSession: (req, res, next) => login.currentSession(req, res, next),
    requireSession: (req, res, next) => login.requireSession(req, res, next),
    handleErrors: (error, req, res, next) => login.handleErrors(error, req, res, next),
  };
}

module.exports = { createLogin };
