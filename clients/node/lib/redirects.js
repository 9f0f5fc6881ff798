"use strict";

const { Forbidden } = require("./errors.js");

// The sidecar truncates longer URLs of tasks.
const LONGEST_TASK_URL = 2048;
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Determines whether the response came from another URL than the requested one. Only the sidecar knows a resource's
 * base URL: it is learned from the first task, and from each one whose URL does not start with it.
 */
class RedirectReporter {
  constructor(client) {
    this.client = client;
  }

  async happened(path, { task, url }) {
    if (ABSOLUTE.test(path)) return normal(path) !== normal(url);
    const tail = path.replace(/^\//, "");
    if (this.base !== undefined && normal(this.base + tail) === normal(url)) return false;
    const requested = await this.#urlOf(task);
    if (requested === undefined) return false;
    if (requested.length >= LONGEST_TASK_URL) return !url.startsWith(requested.slice(0, LONGEST_TASK_URL));
    if (requested.endsWith(tail)) this.base = requested.slice(0, requested.length - tail.length);
    return normal(requested) !== normal(url);
  }

  async #urlOf(task) {
    if (this.isForbidden) return undefined;
    try {
      return (await this.client.getTask({ task })).url;
    } catch (error) {
      this.isForbidden = error instanceof Forbidden;
      return undefined;
    }
  }
}

function normal(url) {
  try {
    return new URL(url).href.split("#", 1)[0];
  } catch {
    return url;
  }
}

module.exports = { RedirectReporter };
