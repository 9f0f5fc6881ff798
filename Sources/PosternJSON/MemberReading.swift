// Reading of members straight into properties, for the params of calls that are made often: `Decodable` looks up each
// member that a type may have, and most objects have few of them.
//
// `read` returns false for what `JSONValueDecoder` rejects, by the same rules. The decoder is then the one that says
// why.

extension JSONTree {
  /// Calls `read` with each member of an object; false once it returns false, and when this is not an object.
  @inlinable @inline(__always)
  package func readMembers(_ read: (Member) -> Bool) -> Bool {
    guard isObject else { return false }
    return withExtendedLifetime(self) {
      var members = members
      while let member = members.next() {
        guard read(member) else { return false }
      }
      return true
    }
  }
}

extension JSONTree.Member {
  /// Reads a string; null leaves `place` as it is.
  @usableFromInline
  package func read(_ place: inout String?) -> Bool {
    read(&place) { try ScalarDecoding.string($0, at: .root) }
  }

  /// Reads a boolean; null leaves `place` as it is.
  package func read(_ place: inout Bool?) -> Bool { read(&place) { try ScalarDecoding.bool($0, at: .root) } }

  /// Reads an integer; null leaves `place` as it is.
  package func read(_ place: inout Int?) -> Bool {
    read(&place) { try ScalarDecoding.integer($0, as: Int.self, at: .root) }
  }

  /// Reads an integer; null leaves `place` as it is.
  package func read(_ place: inout Int64?) -> Bool {
    read(&place) { try ScalarDecoding.integer($0, as: Int64.self, at: .root) }
  }

  /// Reads a number; null leaves `place` as it is.
  package func read(_ place: inout Double?) -> Bool { read(&place) { try ScalarDecoding.real($0, at: .root) } }

  /// Reads an array of strings; null leaves `place` as it is.
  package func read(_ place: inout [String]?) -> Bool { read(&place) { try DecodingNode.strings($0, at: .root) } }

  /// Reads any value without U+0000; null leaves `place` as it is.
  package func read(_ place: inout JSONValue?) -> Bool {
    guard !node.isNull else { return true }
    let value = node.value
    guard !value.containsNUL else { return false }
    place = value
    return true
  }

  /// Reads one of an enumeration's values; null leaves `place` as it is.
  @inlinable @inline(__always)
  package func read<Choice: RawRepresentable<String>>(_ place: inout Choice?) -> Bool {
    var word: String?
    guard read(&word) else { return false }
    guard let word else { return true }
    place = Choice(rawValue: word)
    return place != nil
  }

  /// Reads a value of a type that takes it as it is; null leaves `place` as it is.
  @inlinable @inline(__always)
  package func read<Raw: RawJSONDecodable>(_ place: inout Raw?) -> Bool {
    guard !isNull else { return true }
    place = try? Raw(rawJSON: value)
    return place != nil
  }

  /// The members of its value, an object; nil when it is not one.
  package var members: JSONTree.Members? { node.isObject ? JSONTree.Members(node) : nil }

  /// Its name.
  package var nameText: String { String(decoding: name, as: UTF8.self) }

  @inline(__always)
  private func read<Value>(_ place: inout Value?, _ decode: (JSONNode) throws -> Value?) -> Bool {
    guard !node.isNull else { return true }
    guard let value = try? decode(node) else { return false }
    place = value
    return true
  }
}
