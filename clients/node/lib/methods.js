"use strict";

/** A fetch whose repetition has the effect of one (RFC 9110, 9.2.2), and which holds nothing that is good once. */
function isRepeatableFetch(params) {
  if (params.continuation !== undefined || params.task !== undefined || params.stream === true) return false;
  return ["GET", "HEAD", "PUT", "DELETE"].includes(String(params.method ?? "GET").toUpperCase());
}

const always = () => true;
const never = () => false;

/**
 * Every method of the sidecar, by its name here: its name on the wire, and whether a call that was sent, and whose
 * connection was lost before the answer, may be sent again.
 * @type {Record<string, [string, (params: any) => boolean]>}
 */
const METHODS = {
  discover: ["rpc.discover", always],
  getInfo: ["getInfo", always],
  health: ["health", always],
  metrics: ["metrics", always],
  reloadConfig: ["reloadConfig", never], // what changed would be lost
  fetchResource: ["fetchResource", isRepeatableFetch],
  getTask: ["getTask", always],
  listTasks: ["listTasks", always],
  suspendTask: ["suspendTask", always],
  resumeTask: ["resumeTask", always],
  cancelTask: ["cancelTask", always],
  preauthorize: ["preauthorize", always],
  invalidateDecisions: ["invalidateDecisions", always],
  validateIdToken: ["validateIdToken", always],
  validateAccessToken: ["validateAccessToken", always],
  validateLogoutToken: ["validateLogoutToken", never], // a logout token is good once
  introspectToken: ["introspectToken", always],
  verifyJws: ["verifyJws", always],
  decryptJwe: ["decryptJwe", always],
  parseAdvice: ["parseAdvice", always],
  authenticate: ["authenticate", never],
  authenticateWithAdvice: ["authenticateWithAdvice", never],
  createSession: ["createSession", never],
  beginAuthorization: ["beginAuthorization", never],
  completeAuthorization: ["completeAuthorization", never],
  beginDeviceAuthorization: ["beginDeviceAuthorization", never],
  completeDeviceAuthorization: ["completeDeviceAuthorization", never],
  getSession: ["getSession", always],
  listSessions: ["listSessions", always],
  refreshSession: ["refreshSession", never],
  endSession: ["endSession", never],
  getAccessToken: ["getAccessToken", always],
  revokeToken: ["revokeToken", never],
};

/** Those whose effect is the connection's: the client has methods of its own for them. */
const OWN_METHODS = ["subscribe", "unsubscribe", "registerDelegate"];

/** @type {Map<string, (params: any) => boolean>} */
const REPEATABLE = new Map();
for (const [method, isRepeatable] of Object.values(METHODS)) REPEATABLE.set(method, isRepeatable);
for (const method of OWN_METHODS) REPEATABLE.set(method, always);

/** Whether a call may be sent a second time although the first may have arrived. */
function isRepeatable(method, params) {
  return (REPEATABLE.get(method) ?? never)(params);
}

/** What ends or serves other calls does not wait behind them. */
const URGENT = new Set([
  ...["authenticateWithAdvice", "authenticate"],
  ...["cancelTask", "suspendTask", "resumeTask", "getTask"],
]);

module.exports = { METHODS, OWN_METHODS, isRepeatable, URGENT };
