"use strict";

const { Client } = require("./client.js");
const { createFetch, FetchError } = require("./fetch.js");
const errors = require("./errors.js");

module.exports = {
  Client,
  createFetch,
  FetchError,
  PosternError: errors.PosternError,
  ConnectionError: errors.ConnectionError,
  RequestError: errors.RequestError,
  InternalError: errors.InternalError,
  ForbiddenError: errors.ForbiddenError,
  UnavailableError: errors.UnavailableError,
  DeadlineError: errors.DeadlineError,
  CancelledError: errors.CancelledError,
  ConfigurationError: errors.ConfigurationError,
  ResourceError: errors.ResourceError,
  AdviceError: errors.AdviceError,
  TokenError: errors.TokenError,
  AuthenticationError: errors.AuthenticationError,
  SessionError: errors.SessionError,
};
