"use strict";

const LINE_FEED = 10;
// The number of pieces that are joined at once: a small piece costs more than its bytes.
const MAX_PIECES = 1024;

/** Splits the received bytes into messages, one per line. Buffers one incomplete message of bounded size. */
class Splitter {
  constructor(maxBytes, onMessage) {
    this.maxBytes = maxBytes;
    this.onMessage = onMessage;
    this.pieces = [];
    this.small = 0;
    this.size = 0;
  }

  /** Whether a message is incomplete. */
  get isPartial() {
    return this.size > 0;
  }

  /** Throws a RangeError for a message over the limit; errors of `onMessage` are passed on. */
  push(chunk) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      const length = (end < 0 ? chunk.length : end) - start;
      if (this.size + length > this.maxBytes) throw new RangeError(`a message of more than ${this.maxBytes} bytes`);
      if (end < 0) {
        if (length > 0) {
          this.pieces.push(start === 0 ? chunk : chunk.subarray(start));
          this.size += length;
          this.#compact();
        }
        return;
      }
      let text;
      if (this.size === 0) {
        text = chunk.toString("utf8", start, end);
      } else {
        this.pieces.push(chunk.subarray(start, end));
        text = Buffer.concat(this.pieces, this.size + length).toString("utf8");
        this.pieces = [];
        this.small = 0;
        this.size = 0;
      }
      start = end + 1;
      if (text.length > 0) this.onMessage(text);
    }
  }

  #compact() {
    this.small += 1;
    if (this.small < MAX_PIECES) return;
    this.small = 0;
    this.pieces.push(Buffer.concat(this.pieces.splice(-MAX_PIECES)));
  }
}

module.exports = { Splitter };
