"use strict";

/**
 * A field's value without what HTTP has around it: spaces and tabs. `trim` also removes bytes that belong to a name: a
 * browser lets a neighbour domain set `\xa0__Host-…`, whose name does not begin with that prefix.
 * @param {string} text
 */
function stripped(text) {
  let [start, end] = [0, text.length];
  while (start < end && isWhiteSpace(text[start])) start++;
  while (start < end && isWhiteSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

function isWhiteSpace(character) {
  return character === " " || character === "\t";
}

module.exports = { stripped };
