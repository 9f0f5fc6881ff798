"use strict";

const { Client } = require("./client.js");
const errors = require("./errors.js");
const { createFetch, FetchFailed } = require("./fetch.js");
const { protect } = require("./protect.js");

module.exports = { Client, createFetch, FetchFailed, protect, ...errors };
