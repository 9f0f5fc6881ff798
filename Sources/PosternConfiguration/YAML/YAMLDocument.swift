/// Reads one YAML document into a `SourceNode`: positions kept, nothing guessed about types.
package struct YAMLDocument {
  /// The largest file in bytes.
  package static let maxBytes = 1 << 20
  /// How deep keys and lists may nest; the deepest key of the schema needs a fraction of it.
  static let maxDepth = 64
  /// How many values the document may have once aliases are expanded.
  static let maxNodes = 100_000

  static let secondDocument = "a second YAML document begins here; a configuration is one document"

  /// The document's root; nil when the text holds no document.
  package let root: SourceNode?
  /// Errors that did not end the reading: repeated keys, undefined aliases, tags.
  package let problems: [YAMLProblem]

  /// Reads `bytes`; throws what keeps them from being read at all.
  package init(_ bytes: [UInt8]) throws(YAMLProblem) {
    guard bytes.count <= Self.maxBytes else {
      throw YAMLProblem(line: 1, column: 1, message: "the file is larger than 1 MiB")
    }
    let text = try YAMLText(bytes)
    var composer = YAMLComposer(try YAMLEventReader(text.bytes))
    do {
      root = try composer.document()
      problems = composer.problems
    } catch {
      guard error.message.hasPrefix("not YAML"), text.scalar(line: error.line, column: error.column) == "\t" else {
        throw error
      }
      throw YAMLProblem(line: error.line, column: error.column, message: "tabs cannot indent YAML; use spaces")
    }
  }
}
