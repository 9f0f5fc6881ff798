"use strict";

const { PosternError } = require("./errors.js");
const { onAbort } = require("./signals.js");

/** The events of a client as an iterator. Buffers a limited number; ends with an error beyond it. */
class EventIterator {
  constructor({ names, maxBuffered, signal, onWaiting, onEnd }) {
    this.names = new Set(names);
    this.maxBuffered = maxBuffered;
    this.onWaiting = onWaiting;
    this.onEnd = onEnd;
    this.buffered = [];
    this.waiting = [];
    if (signal?.aborted) this.fail(signal.reason);
    else if (signal) this.stopListening = onAbort(signal, () => this.fail(signal.reason));
  }

  push(event) {
    if (this.hasEnded) return;
    const waiter = this.waiting.shift();
    if (waiter) {
      this.onWaiting(-1);
      waiter.resolve({ value: event, done: false });
    } else if (this.buffered.length >= this.maxBuffered) {
      const message = `more than ${this.maxBuffered} events were not taken`;
      this.fail(new PosternError(message, { reason: "events_overflowed" }));
    } else {
      this.buffered.push(event);
    }
  }

  fail(error) {
    this.error = error;
    this.end();
  }

  /** Buffered events can still be read. */
  end() {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.stopListening?.();
    this.onWaiting(-this.waiting.length);
    for (const waiter of this.waiting.splice(0)) this.#finish(waiter);
    this.onEnd();
  }

  next() {
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (this.buffered.length > 0) return resolve({ value: this.buffered.shift(), done: false });
      if (this.hasEnded) return this.#finish(waiter);
      this.waiting.push(waiter);
      this.onWaiting(1);
    });
  }

  async return() {
    this.buffered = [];
    this.error = undefined;
    this.end();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  #finish({ resolve, reject }) {
    const { error } = this;
    this.error = undefined;
    if (error === undefined) resolve({ value: undefined, done: true });
    else reject(error);
  }
}

module.exports = { EventIterator };
