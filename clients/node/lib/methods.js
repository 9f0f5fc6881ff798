"use strict";

/** A fetch that only reads (RFC 9110, 9.2.1), and holds nothing that is good once. */
function isReadingFetch(params) {
  if (params.continuation !== undefined || params.task !== undefined || params.stream === true) return false;
  return ["GET", "HEAD"].includes(String(params.method ?? "GET").toUpperCase());
}

const always = () => true;
const never = () => false;

/**
 * Every method of the sidecar, by its name here: its name on the wire, and whether a call that may have been done may
 * be done again, because it reads. The rule: proto-docs/wire.md, section 3.
 * @type {Record<string, [string, (params: any) => boolean]>}
 */
const METHODS = {
  discover: ["rpc.discover", always],
  getInfo: ["getInfo", always],
  health: ["health", always],
  metrics: ["metrics", always],
  reloadConfig: ["reloadConfig", never], // what changed would be lost
  createEndpoint: ["createEndpoint", never],
  listEndpoints: ["listEndpoints", always],
  revokeEndpoint: ["revokeEndpoint", never],
  explainCall: ["explainCall", always],
  fetchResource: ["fetchResource", isReadingFetch],
  getTask: ["getTask", always],
  listTasks: ["listTasks", always],
  suspendTask: ["suspendTask", never],
  resumeTask: ["resumeTask", never],
  cancelTask: ["cancelTask", never],
  preauthorize: ["preauthorize", always],
  invalidateDecisions: ["invalidateDecisions", never],
  validateIdToken: ["validateIdToken", always],
  validateAccessToken: ["validateAccessToken", always],
  validateRequest: ["validateRequest", never], // a proof is good once
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

/** Those of Adobe Pass, which are the members of `client.pass`, in the same form. */
/** @type {Record<string, [string, (params: any) => boolean]>} */
const PASS_METHODS = {
  getConfiguration: ["pass.getConfiguration", always],
  createSession: ["pass.createSession", never],
  resumeSession: ["pass.resumeSession", never],
  getSession: ["pass.getSession", always],
  listProfiles: ["pass.listProfiles", (params) => params.partner?.samlResponse === undefined], // makes a profile of it
  authorize: ["pass.authorize", never], // a title of a promotional TempPass would count twice
  logout: ["pass.logout", never],
};

/** Those whose effect ends with the connection: the client has methods of its own for them. */
const OWN_METHODS = ["subscribe", "unsubscribe", "registerDelegate", "narrow"];

/** @type {Map<string, (params: any) => boolean>} */
const READS = new Map();
for (const [method, isReading] of [...Object.values(METHODS), ...Object.values(PASS_METHODS)]) READS.set(method, isReading);
for (const method of OWN_METHODS) READS.set(method, method === "narrow" ? never : always);

/** Whether a call that may have been done may be done again. */
function onlyReads(method, params) {
  return (READS.get(method) ?? never)(params);
}

/** What ends or serves other calls does not wait behind them. */
const URGENT = new Set([
  ...["authenticateWithAdvice", "authenticate"],
  ...["cancelTask", "suspendTask", "resumeTask", "getTask"],
]);

module.exports = { METHODS, PASS_METHODS, OWN_METHODS, onlyReads, URGENT };
