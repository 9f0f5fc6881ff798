"use strict";

const { Client } = require("./client.js");
const { createDispatcher } = require("./dispatcher.js");
const errors = require("./errors.js");
const { createFetch, FetchFailed } = require("./fetch.js");
const { protect } = require("./protect.js");

module.exports = { Client, createDispatcher, createFetch, FetchFailed, protect, ...errors };
