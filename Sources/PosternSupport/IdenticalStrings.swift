extension String {
  /// Whether both hold the same UTF-8. `==` also accepts canonical equivalents, which are other identifiers here.
  package func isIdentical(to other: String) -> Bool { hasSameBytes(as: other) }
}

/// Strings told apart byte by byte, found in constant time: lists in tokens and calls may be long.
package struct IdenticalStrings: Sendable {
  private let members: Set<[UInt8]>

  package init(_ strings: some Sequence<some StringProtocol>) { members = Set(strings.map { Array($0.utf8) }) }

  package func contains(_ text: some StringProtocol) -> Bool { members.contains(Array(text.utf8)) }
}

extension [String] {
  /// Whether one element is `text`, byte by byte.
  package func containsIdentical(_ text: String) -> Bool { contains { $0.isIdentical(to: text) } }
}
