import PosternJSON
package import PosternSupport

/// The contents of a record as JSON: a pending authorization, a profile.
package protocol RecordContents: Codable, Sendable {}

extension RecordContents {
  /// Reads a record's contents; nil when they are of another type.
  package static func read(_ record: StoredRecord) -> Self? {
    guard
      let value = try? JSONParser(maxBytes: StoredRecord.maximumByteCount, maxDepth: 16).tree(
        of: record.contents.reveal())
    else { return nil }
    return try? JSONValueDecoder().decode(Self.self, from: value)
  }

  /// The contents as the bytes of a record; nil would be a bug.
  package var bytes: Secret<[UInt8]>? {
    (try? JSONValueEncoder().encode(self)).map { Secret(JSONWriter().write($0)) }
  }
}
