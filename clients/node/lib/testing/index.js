"use strict";

const { adviceRequired, failure, FetchResult } = require("./answers.js");
const { FakePostern } = require("./fake.js");

module.exports = { FakePostern, FetchResult, adviceRequired, failure };
