"use strict";

const HTML = "text/html; charset=utf-8";
const POLICY = "default-src 'none'; img-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Answers. None of them is for a cache, and no other site gets the URL of one. */
function send(res, status, type = "", body = "") {
  res.statusCode = status;
  res.setHeader("Cache-Control", "no-store");
  res.setHeader("Referrer-Policy", "no-referrer");
  if (type !== "") res.setHeader("Content-Type", type);
  if (type === HTML) res.setHeader("Content-Security-Policy", POLICY);
  res.setHeader("Content-Length", Buffer.byteLength(body));
  res.end(body);
}

function sendRedirect(res, location) {
  res.setHeader("Location", location);
  send(res, 303);
}

function sendPage(res, status, html) {
  send(res, status, HTML, html);
}

function sendJSON(res, status, value) {
  send(res, status, "application/json", JSON.stringify(value));
}

/** The page that a user sees, unless the application has its own. */
function pageOf({ title, text, link, linkText }) {
  const head = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title>`;
  const action = `<p><a href="${escaped(link)}">${escaped(linkText)}</a></p>`;
  return `${head}<h1>${escaped(title)}</h1><p>${escaped(text)}</p>${action}</html>`;
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

module.exports = { pageOf, send, sendJSON, sendPage, sendRedirect };
