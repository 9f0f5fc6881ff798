// Compares JSON schemas with TypeScript types, member by member.

/** The exported types of a declaration file. */
export function loadTypes(ts, file) {
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
    moduleResolution: ts.ModuleResolutionKind.NodeJs,
    types: [],
  });
  const checker = program.getTypeChecker();
  const exported = new Map(
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
      .map((symbol) => [symbol.name, symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol]),
  );
  const type = (name) => {
    const symbol = exported.get(name);
    if (symbol === undefined) throw new Error(`no type ${name}`);
    return checker.getDeclaredTypeOfSymbol(symbol);
  };
  return {
    ts,
    checker,
    type,
    members: (name) => checker.getPropertiesOfType(type(name)).map((member) => member.name),
    literals: (name) => type(name).types.map(({ value }) => value),
    signatureUses: (name, member, words) => {
      const [declaration] = checker.getPropertyOfType(type(name), member).declarations;
      return words.every((word) => new RegExp(`\\b${word}\\b`).test(declaration.getText()));
    },
  };
}

/** The parts of a union without `undefined`, and without `null`, which is the same on the wire. */
function parts({ ts }, type) {
  const all = type.isUnion() ? type.types : [type];
  return all.filter((one) => !(one.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)));
}

/** A member in each of the objects of a union that have it. */
function member({ ts, checker }, objects, name) {
  const found = objects
    .map((object) => checker.getPropertyOfType(object, name))
    .filter(Boolean)
    .map((symbol) => checker.getTypeOfSymbolAtLocation(symbol, symbol.declarations[0]))
    .map((type) => ({ type, always: !holdsUndefined(ts, type) }));
  const types = found.flatMap(({ type }) => (type.isUnion() ? type.types : [type]));
  const real = types.filter((type) => !(type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)));
  const required = found.length === objects.length && found.every(({ always }) => always);
  return { required, types: [...new Set(real)] };
}

function holdsUndefined(ts, type) {
  return (type.isUnion() ? type.types : [type]).some(({ flags }) => flags & ts.TypeFlags.Undefined);
}

export function differences(context, schema, type, where) {
  return compare(context, schema, parts(context.types, type), where);
}

function compare(context, schema, types, where) {
  const { ts, checker } = context.types;
  const said = () => types.map((type) => checker.typeToString(type)).join(" | ");
  const wrong = (what) => [`${where}: ${what}, but the types say ${said()}`];
  const every = (flag) => types.length > 0 && types.every(({ flags }) => flags & flag);
  if (schema.$ref) return compare(context, context.schemas[schema.$ref.split("/").pop()], types, where);
  if (schema.enum) {
    if (!every(ts.TypeFlags.StringLiteral)) return wrong(`one of ${schema.enum}`);
    const values = types.map(({ value }) => value).sort();
    return values.join() === [...schema.enum].sort().join() ? [] : wrong(`one of ${schema.enum}`);
  }
  if (schema.oneOf) {
    const kinds = schema.oneOf.map((one) => types.some((type) => compare(context, one, [type], where).length === 0));
    return kinds.every(Boolean) && kinds.length === types.length ? [] : wrong("several kinds");
  }
  switch (schema.type) {
    case undefined: // anything
      return [];
    case "string":
      return every(ts.TypeFlags.StringLike) ? [] : wrong("a string");
    case "integer":
    case "number":
      return every(ts.TypeFlags.NumberLike) ? [] : wrong("a number");
    case "boolean":
      return every(ts.TypeFlags.BooleanLike) ? [] : wrong("a boolean");
    case "array": {
      if (!types.every((type) => checker.isArrayType(type))) return wrong("an array");
      const items = types.flatMap((type) => parts(context.types, checker.getTypeArguments(type)[0]));
      return compare(context, schema.items, items, `${where}[]`);
    }
    case "object":
      return compareObject(context, schema, types, where, wrong);
    default:
      return wrong(`a kind this test does not know, ${schema.type}`);
  }
}

function compareObject(context, schema, types, where, wrong) {
  const { ts, checker } = context.types;
  if (!types.every(({ flags }) => flags & ts.TypeFlags.Object)) return wrong("an object");
  const indexes = types.map((type) => checker.getIndexInfoOfType(type, ts.IndexKind.String)?.type);
  if (schema.properties === undefined) {
    if (!indexes.every(Boolean)) return wrong("an object of any members");
    if (typeof schema.additionalProperties !== "object") return [];
    const values = indexes.flatMap((type) => parts(context.types, type));
    return compare(context, schema.additionalProperties, values, `${where}.*`);
  }
  if (indexes.some(Boolean)) return wrong("an object of certain members");
  const there = new Set(types.flatMap((type) => checker.getPropertiesOfType(type).map(({ name }) => name)));
  const found = [];
  for (const name of there) if (!(name in schema.properties)) found.push(`${where}.${name}: not in openrpc.json`);
  for (const [name, one] of Object.entries(schema.properties)) {
    const place = `${where}.${name}`;
    if (!there.has(name)) {
      found.push(`${place}: not in the types`);
      continue;
    }
    const own = member(context.types, types, name);
    const required = schema.required?.includes(name) ?? false;
    const presence = required ? "is always there" : "may be missing";
    if (own.required !== required) found.push(`${place}: by openrpc.json it ${presence}`);
    found.push(...compare(context, one, own.types, place));
  }
  return found;
}
