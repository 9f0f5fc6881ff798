public import PosternJSON

/// The documents that follow from the declaration of the keys.
public enum ConfigurationSchema {
  /// The whole configuration, described.
  static let root: SectionSpecification = {
    let reader = SectionReader(describing: .describing())
    _ = PosternConfiguration(reading: reader)
    return reader.specification
  }()

  /// The description in both documents.
  static let summary = """
    Configuration of Postern, an authentication sidecar. Durations are a whole number with a unit (250ms, 30s, 5m, 1h, 1d), sizes bytes or \
    a number with KiB, MiB, GiB. Every single value can be overridden by an environment variable: POSTERN__ and the path in upper case with \
    __ between the levels, as in POSTERN__LISTEN__PATH. A secret is given by a file (…File), by an environment variable (…Env), or, with a \
    warning, in the configuration itself. Relative paths begin at the configuration's directory; those of secrets and certificates first at \
    $CREDENTIALS_DIRECTORY.
    """
}

extension ConfigurationSchema {
  /// A YAML file that shows every key with its meaning; it can be loaded if the files it names exist.
  /// Deleting the `#` right before a key switches the key on.
  public static func annotatedExample() -> String {
    var writer = ExampleWriter()
    writer.comment(summary, indent: 0)
    writer.comment(
      "A # with a key right behind it is a key that may be left out. Generated from the code: do not edit.", indent: 0)
    writer.section(root, indent: 0, isCommented: false)
    return writer.text
  }
}

extension ConfigurationSchema {
  /// The JSON Schema (draft 2020-12) of a configuration file, for editors and for checks in CI.
  public static func jsonSchema() -> JSONValue {
    var schema: JSONObject = [
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "Postern configuration",
      "description": .string(summary),
    ]
    for member in object(root).members { schema[member.name] = member.value }
    return .object(schema)
  }

  /// A section; `name:` with nothing behind it is an empty one.
  private static func object(_ section: SectionSpecification) -> JSONObject {
    var schema: JSONObject = ["type": ["object", "null"], "additionalProperties": false]
    let required = section.keys.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { schema["required"] = .array(required) }
    schema["properties"] = .object(
      JSONObject(section.keys.flatMap { key in key.names.map { ($0, .object(property(key, named: $0))) } }))
    let exclusions = exclusions(section)
    if !exclusions.isEmpty { schema["allOf"] = .array(exclusions) }
    return schema
  }

  private static func property(_ key: KeySpecification, named name: String) -> JSONObject {
    var schema: JSONObject = ["description": .string(key.documentation)]
    if name != key.name {
      schema = ["description": .string("The former name of \(key.name)."), "deprecated": true]
    }
    let form: JSONObject =
      switch key.form {
      case .value(let value): value
      case .list(let item): ["type": "array", "items": .object(item)]
      case .section(let section): object(section)
      case .sections(let section): ["type": "array", "items": .object(object(section))]
      case .map(let section, _): ["type": ["object", "null"], "additionalProperties": .object(object(section))]
      case .texts: ["type": "object", "additionalProperties": ["type": "string"]]
      }
    for member in form.members { schema[member.name] = member.value }
    if let value = key.defaultValue { schema["default"] = value }
    return schema
  }

  /// At most one of the ways of giving a secret, and of the names of a key. `required` alone would hold for an empty
  /// section, which is null.
  private static func exclusions(_ section: SectionSpecification) -> [JSONValue] {
    var exclusions: [JSONValue] = []
    func exclude(_ name: String, _ other: String) {
      let both: JSONValue = [.string(name), .string(other)]
      exclusions.append(["not": ["type": "object", "required": both]])
    }
    for (index, key) in section.keys.enumerated() {
      if let formerName = key.formerName { exclude(key.name, formerName) }
      guard let secret = key.secretName else { continue }
      for other in section.keys[(index + 1)...] where other.secretName == secret {
        exclude(key.name, other.name)
      }
    }
    return exclusions
  }
}
