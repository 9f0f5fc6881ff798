"use strict";

const { Client } = require("./client.js");
const errors = require("./errors.js");
const { createFetch, FetchFailed } = require("./fetch.js");

module.exports = { Client, createFetch, FetchFailed, ...errors };

/** Former names: of a class that is `undefined` an `instanceof` would fail only when there is an error to handle. */
const FORMER = {
  ForbiddenError: "Forbidden",
  UnavailableError: "Unavailable",
  DeadlineError: "DeadlineExceeded",
  CancelledError: "Cancelled",
  ConfigurationError: "ConfigurationInvalid",
  ResourceError: "FetchError",
  AdviceError: "AdviceRequired, and AdviceFailed",
  TokenError: "ValidationUndecided",
};
for (const [name, now] of Object.entries(FORMER)) {
  const get = () => {
    throw new ReferenceError(`${name} is now called ${now}`);
  };
  Object.defineProperty(module.exports, name, { get });
}
