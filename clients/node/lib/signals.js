"use strict";

/** One listener for each signal, however many calls share it: Node warns about more than ten. */
const watched = new WeakMap();

/** Calls `act` when the signal aborts; returns what ends that. */
function onAbort(signal, act) {
  let entry = watched.get(signal);
  if (entry === undefined) {
    const acts = new Set();
    const listener = () => {
      watched.delete(signal);
      for (const one of acts) one();
    };
    entry = { acts, listener };
    watched.set(signal, entry);
    signal.addEventListener("abort", listener, { once: true });
  }
  entry.acts.add(act);
  return () => {
    entry.acts.delete(act);
    if (entry.acts.size === 0 && watched.get(signal) === entry) {
      watched.delete(signal);
      signal.removeEventListener("abort", entry.listener);
    }
  };
}

module.exports = { onAbort };
