"use strict";

const { REASONS } = require("../error-codes.js");
const { METHODS, OWN_METHODS, PASS_METHODS } = require("../methods.js");
const { didYouMean } = require("../names.js");
const document = require("./openrpc.json");

// Errors of the protocol itself, which every method may have, and no method lists.
const OF_EVERY_CALL = [
  ...["parse_error", "invalid_request", "method_not_found", "message_too_large", "batch_too_large", "message_too_complex"],
];

/** What is wrong with a value: where in it, as a JSON pointer, and what. */
class Mismatch extends Error {
  /**
   * @param {string} path
   * @param {string} message
   */
  constructor(path, message) {
    super(message);
    this.path = path;
  }
}

const KINDS = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** The name of a value's kind. Never the value: it may be a secret. */
function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/**
 * Throws a `Mismatch` when a value does not have a schema. A member that is null counts as missing, as on the wire.
 * @param {any} schema
 * @param {any} value
 * @param {string} path
 */
function check(schema, value, path) {
  if (schema.$ref) return check(document.components.schemas[schema.$ref.split("/").pop()], value, path);
  if (schema.oneOf) {
    if (schema.oneOf.some((one) => has(one, value, path))) return;
    throw new Mismatch(path, `${named(path)} has none of the ${schema.oneOf.length} forms that the method knows`);
  }
  if (schema.enum && !schema.enum.includes(value)) throw new Mismatch(path, `${named(path)} must be one of ${schema.enum.join(", ")}`);
  if (schema.type === undefined) return;
  if (!KINDS[schema.type](value)) throw new Mismatch(path, `${named(path)} must be of type ${schema.type}, and is ${kindOf(value)}`);
  if (schema.type === "array") value.forEach((item, index) => check(schema.items ?? {}, item, `${path}/${index}`));
  if (schema.type === "object") checkMembers(schema, value, path);
}

function checkMembers({ properties = {}, required = [], additionalProperties }, value, path) {
  for (const name of required) {
    if (value[name] === undefined || value[name] === null) throw new Mismatch(`${path}/${name}`, `the member ${name} is missing`);
  }
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined || (one === null && Object.hasOwn(properties, name))) continue;
    const where = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (Object.hasOwn(properties, name)) check(properties[name], one, where);
    else if (typeof additionalProperties === "object") check(additionalProperties, one, where);
    else if (additionalProperties === false) {
      throw new Mismatch(where, `there is no member ${name}${didYouMean(name, Object.keys(properties))}`);
    }
  }
}

function has(schema, value, path) {
  try {
    check(schema, value, path);
    return true;
  } catch (error) {
    if (error instanceof Mismatch) return false;
    throw error;
  }
}

function named(path) {
  return path === "" ? "the value" : path;
}

/** A method of the sidecar, as the OpenRPC document describes it. */
class Method {
  /**
   * @param {string} name the client's
   * @param {string} wireName
   */
  constructor(name, wireName) {
    const found = document.methods.find((one) => one.name === wireName);
    if (found === undefined) throw new Error(`openrpc.json does not describe ${wireName}`);
    this.name = name;
    this.wireName = wireName;
    this.params = {
      type: "object",
      properties: Object.fromEntries(found.params.map((param) => [param.name, param.schema])),
      required: found.params.filter(({ required }) => required).map((param) => param.name),
      additionalProperties: false,
    };
    this.result = found.result.schema;
    this.errors = found.errors;
  }

  /** Throws a `Mismatch` for params that the sidecar rejects. */
  checkParams(params) {
    check(this.params, params, "");
  }

  /** Throws a `TypeError` for a result that the sidecar never gives. */
  checkResult(result) {
    try {
      check(this.result, result, "");
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw new TypeError(`this is not a result of ${this.name}: ${error.message}`);
    }
  }

  /**
   * The code and the summary of an error that this method may have.
   * @param {string} reason
   */
  errorOf(reason) {
    const own = this.errors.find(({ data }) => data.reason === reason);
    if (own !== undefined) return { code: own.code, message: own.message };
    if (OF_EVERY_CALL.includes(reason)) {
      const [code] = /** @type {[number, string, unknown]} */ (REASONS.find(([, one]) => one === reason));
      return { code, message: reason.replaceAll("_", " ") };
    }
    const reasons = this.errors.map(({ data }) => data.reason);
    throw new TypeError(`${this.name} never fails with ${reason}${didYouMean(reason, reasons)}`);
  }
}

/** @type {[string, string][]} */
const NAMES = [
  ...Object.entries(METHODS).map(([name, [wireName]]) => /** @type {[string, string]} */ ([name, wireName])),
  ...OWN_METHODS.map((name) => /** @type {[string, string]} */ ([name, name])),
  ...Object.entries(PASS_METHODS).map(([name, [wireName]]) => /** @type {[string, string]} */ ([`pass.${name}`, wireName])),
];
const BY_NAME = new Map(NAMES.map(([name, wireName]) => [name, new Method(name, wireName)]));
const BY_WIRE_NAME = new Map([...BY_NAME.values()].map((method) => [method.wireName, method]));

/** The method of that name of the client. */
function methodNamed(name) {
  const method = BY_NAME.get(name);
  if (method === undefined) throw new TypeError(`the sidecar has no method ${name}${didYouMean(name, BY_NAME.keys())}`);
  return method;
}

module.exports = { BY_WIRE_NAME, document, methodNamed, Mismatch };
