"use strict";

const { ForbiddenError } = require("./errors.js");

// Longer URLs of tasks are cut by the sidecar.
const LONGEST_TASK_URL = 2048;
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Says whether another URL answered than was asked. Only the sidecar knows a resource's base URL: the first task tells
 * it, and each whose URL does not begin with it.
 */
class RedirectReporter {
  constructor(client) {
    this.client = client;
  }

  async happened(path, { task, url }) {
    if (ABSOLUTE.test(path)) return normal(path) !== normal(url);
    const tail = path.replace(/^\//, "");
    if (this.base !== undefined && normal(this.base + tail) === normal(url)) return false;
    const asked = await this.#urlOf(task);
    if (asked === undefined) return false;
    if (asked.length >= LONGEST_TASK_URL) return !url.startsWith(asked.slice(0, LONGEST_TASK_URL));
    if (asked.endsWith(tail)) this.base = asked.slice(0, asked.length - tail.length);
    return normal(asked) !== normal(url);
  }

  async #urlOf(task) {
    if (this.isForbidden) return undefined;
    try {
      return (await this.client.getTask({ task })).url;
    } catch (error) {
      this.isForbidden = error instanceof ForbiddenError;
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
