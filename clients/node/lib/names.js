"use strict";

// A name this close to a known one is a slip of the keyboard; one further away is another word.
const MAX_SLIPS = 2;

/** Without what differs between camelCase, snake_case and a wrong capital. */
function plain(name) {
  return name.replaceAll("_", "").toLowerCase();
}

/** How many letters have to be added, left out, exchanged for another or with their neighbour. */
function slips(one, other) {
  /** @type {number[][]} */
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let least = Math.min(rows[row - 1][column], rows[row][column - 1], rows[row - 1][column - 1] - (isSame ? 1 : 0)) + 1;
      const isSwapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) least = Math.min(least, rows[row - 2][column - 2] + 1);
      rows[row][column] = least;
    }
  }
  return rows[one.length][other.length];
}

/**
 * The known name that was probably meant.
 * @param {string} name
 * @param {Iterable<string>} known
 * @returns {string | undefined}
 */
function nearest(name, known) {
  const given = plain(name);
  /** @type {string | undefined} */
  let found;
  // Of a short name, two slips leave nothing.
  let fewest = Math.min(MAX_SLIPS, Math.floor(given.length / 3)) + 1;
  for (const one of known) {
    if (Math.abs(one.length - given.length) >= fewest) continue;
    const count = slips(given, plain(one));
    if (count < fewest) [found, fewest] = [one, count];
  }
  return found;
}

/** The end of a message about an unknown name. */
function didYouMean(name, known) {
  const meant = nearest(name, known);
  return meant === undefined ? `; there are ${[...known].join(", ")}` : `; did you mean ${meant}?`;
}

/**
 * Rejects members of `given` that are not known: an option that is misspelt would have no effect.
 * @param {string} what
 * @param {object} given
 * @param {Set<string>} known
 * @param {object} [others] with members that are not options, and no mistake
 */
function checkNames(what, given, known, others = {}) {
  for (const name of Object.keys(given)) {
    if (!known.has(name) && !Object.hasOwn(others, name)) throw new TypeError(`${what} has no option ${name}${didYouMean(name, known)}`);
  }
}

/**
 * A prototype on which a member that does not exist, and is nearly called like a known one, is an error with that name.
 * A short name is no such member: it is often one that a program adds.
 * @param {object} prototype
 * @param {string[]} known
 */
function withSuggestions(prototype, known) {
  const SHORT = 7;
  return new Proxy(Object.create(prototype), {
    get(target, name, receiver) {
      if (typeof name === "string" && name.length >= SHORT && !(name in target)) {
        const meant = nearest(name, known);
        if (meant !== undefined) throw new TypeError(`client.${name} is no method; did you mean ${meant}?`);
      }
      return Reflect.get(target, name, receiver);
    },
  });
}

module.exports = { checkNames, didYouMean, withSuggestions };
