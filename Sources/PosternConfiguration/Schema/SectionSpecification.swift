/// The keys of a section, in the order in which documents list them.
struct SectionSpecification: Sendable {
  /// The keys.
  var keys: [KeySpecification]

  /// The key called `name`.
  subscript(name: String) -> KeySpecification? { keys.first { $0.name == name } }
}
