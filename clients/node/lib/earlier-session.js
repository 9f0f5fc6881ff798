"use strict";

const ENDING_MS = 2_000; // for the end of a browser's earlier session, which the sidecar ends all the same
const OTHER_TAB_MS = 60_000; // one that is younger may be another tab's, which comes back at the same time

/**
 * Whether a browser's earlier session can end without harm to the new one. The end of a session is also the end of its
 * login at the issuer, which `sid` names: the new session may be of the same login. An issuer without `sid` may end all
 * that this user has.
 */
function isOver(earlier, user) {
  if (earlier.issuer !== user.issuer || earlier.subject !== user.subject) return true;
  const [one, other] = [earlier.claims?.sid, user.claims?.sid];
  const isAnotherLogin = one !== undefined && other !== undefined && one !== other;
  return isAnotherLogin && Date.parse(user.createdAt) - Date.parse(earlier.createdAt) > OTHER_TAB_MS;
}

module.exports = { ENDING_MS, isOver };
