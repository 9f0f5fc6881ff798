"use strict";

const { Client } = require("./client.js");
const errors = require("./errors.js");
const { createFetch, FetchFailed } = require("./fetch.js");
const { protect } = require("./protect.js");

/** Former names of classes, for programs that catch by them. */
const FORMER = {
  ForbiddenError: errors.Forbidden,
  UnavailableError: errors.Unavailable,
  DeadlineError: errors.DeadlineExceeded,
  CancelledError: errors.Cancelled,
  ConfigurationError: errors.ConfigurationInvalid,
  ResourceError: errors.FetchError,
  // The class of AdviceRequired and AdviceFailed.
  AdviceError: Object.getPrototypeOf(errors.AdviceRequired),
  TokenError: errors.ValidationUndecided,
};

module.exports = { Client, createFetch, FetchFailed, protect, ...errors, ...FORMER };
