"use strict";

const { ConnectionError, DeadlineExceeded, PosternError, Unavailable } = require("./errors.js");

/** Status, title and text of the pages about a login. Details are for the log. */
/** @type {Record<string, [number, string, string]>} */
const PROBLEMS = {
  notBegunHere: [400, "Please log in again", "This login was not begun in this browser, or it took too long."],
  cancelled: [403, "You are not logged in", "The login was cancelled."],
  rejected: [403, "You are not logged in", "The login did not succeed."],
  ended: [401, "Please log in again", "Your login has ended."],
  notSufficient: [403, "This needs a stronger login", "The login was not sufficient for this page."],
  foreignLogout: [403, "You are still logged in", "This logout does not come from a page of this application."],
  unavailable: [503, "Please try again later", "The login is not available at the moment."],
  failed: [502, "The login does not work", "The application's operator can see why in its log."],
};

/** Whether the same may succeed later. */
function isPassing(error) {
  return error.retryable || [ConnectionError, DeadlineExceeded, Unavailable].some((type) => error instanceof type);
}

/** Which of them an error is; undefined for an error of the program. */
function problemOf(error) {
  if (!(error instanceof PosternError)) return undefined;
  if (isPassing(error)) return "unavailable";
  // Used before, or too long ago.
  if (["state_unknown", "continuation_unknown"].includes(error.reason)) return "notBegunHere";
  if (error.reason !== "authorization_failed") return "failed";
  if (error.data.detail === "state_mismatch") return "notBegunHere";
  return error.upstream?.code === "access_denied" ? "cancelled" : "rejected";
}

module.exports = { PROBLEMS, isPassing, problemOf };
