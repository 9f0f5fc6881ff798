package import PosternJSON

/// One key as the parser, the JSON Schema, the annotated example and the environment overrides know it.
package struct KeySpecification: Sendable {
  /// The form of a key's value.
  package indirect enum Form: Sendable {
    /// One value, with its JSON Schema members.
    case value(JSONObject)
    /// A list of single values.
    case list(JSONObject)
    /// A section of keys.
    case section(SectionSpecification)
    /// A list of sections.
    case sections(SectionSpecification)
    /// Sections by names the operator chooses; the name serves the example.
    case map(SectionSpecification, exampleName: String)
    /// Texts by names the operator chooses.
    case texts
  }

  /// The line of the annotated example.
  package enum Example: Sendable {
    /// The key, set to this value.
    case shown(JSONValue)
    /// The same behind a `#`: for keys that most configurations leave out.
    case commented(JSONValue)
  }

  /// The key.
  package var name: String
  /// The name that it had earlier: accepted in files and in variables, absent from the annotated example.
  var formerName: String?
  /// Its meaning, in one paragraph.
  package var documentation: String
  /// The form of its value.
  package var form: Form
  /// Whether it must be given where its section is.
  package var isRequired = false
  /// The value when it is left out; nil when there is none, or when it depends.
  package var defaultValue: JSONValue?
  /// The line of the annotated example; sections show their keys.
  package var example: Example?
  /// Whether the annotated example keeps the section behind `#`.
  package var isCommentedSection = false
  /// The name that `…`, `…File` and `…Env` of one secret share.
  package var secretName: String?

  /// Whether `text` is one of the names under which the key is found.
  package func isNamed(_ text: String) -> Bool { name == text || formerName == text }

  /// The names under which the key is found.
  package var names: [String] { [name] + (formerName.map { [$0] } ?? []) }
}

/// The keys of a section, in the order in which documents list them.
package struct SectionSpecification: Sendable {
  /// The keys.
  package var keys: [KeySpecification]

  /// The key called `name`.
  package subscript(name: String) -> KeySpecification? { keys.first { $0.name == name } }

  /// `node` with the current names of its keys, at every level. Where a section has a key under both names, it keeps
  /// both, for an error.
  func withCurrentNames(_ node: SourceNode) -> SourceNode {
    guard case .mapping(var entries) = node.content else { return node }
    for index in entries.indices {
      guard let key = keys.first(where: { $0.isNamed(entries[index].key) }) else { continue }
      if !entries.contains(where: { $0.key == key.name }) { entries[index].key = key.name }
      entries[index].value = key.form.withCurrentNames(entries[index].value)
    }
    var renamed = node
    renamed.content = .mapping(entries)
    return renamed
  }
}

extension KeySpecification.Form {
  fileprivate func withCurrentNames(_ node: SourceNode) -> SourceNode {
    var renamed = node
    switch (self, node.content) {
    case (.section(let section), _):
      renamed = section.withCurrentNames(node)
    case (.sections(let section), .sequence(let items)):
      renamed.content = .sequence(items.map(section.withCurrentNames))
    case (.map(let section, _), .mapping(var entries)):
      for index in entries.indices { entries[index].value = section.withCurrentNames(entries[index].value) }
      renamed.content = .mapping(entries)
    default: break
    }
    return renamed
  }
}
