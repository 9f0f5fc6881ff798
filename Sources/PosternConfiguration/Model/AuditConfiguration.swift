import PosternJSON
public import PosternSupport

/// The audit log of decisions.
public struct AuditConfiguration: Sendable, Equatable {
  /// How records show subjects.
  public enum Subjects: String, Sendable, Hashable, CaseIterable {
    /// Unchanged.
    case plain
    /// As a hash, or under the log's key.
    case digest
    /// Not at all.
    case none
  }

  /// The file.
  public var path: String
  /// The key that seals records, the bytes of its file as they are; nil: a plain hash.
  public var key: ConfiguredSecret<[UInt8]>?
  /// The size at which a file is full. Default 64 MiB.
  public var maxBytes: Int
  /// Whether calls fail when they cannot be recorded. Default true.
  public var failClosed: Bool
  /// How records show subjects. Default `plain`.
  public var subjects: Subjects
}

extension AuditConfiguration: ConfigurationSection {
  /// The shortest key: less could be guessed.
  private static let minimumKeyBytes = 32

  package init(reading keys: SectionReader) {
    path = keys.required(
      "path", .writablePath, "File that decisions are recorded in; full ones get a number: audit.log.000001.",
      example: .shown("/var/log/postern/audit.log"))
    key = keys.secretBytes(
      "key",
      "File with the key that seals records, at least 32 bytes: without it any program that can write the log can rewrite it.",
      exampleFile: .shown("/run/secrets/postern-audit-key"))
    maxBytes = keys.value(
      "maxBytes", .size(65_536...(16 << 30)), default: 64 << 20, "Size at which a file is full and the next one begins."
    )
    failClosed = keys.value(
      "failClosed", .boolean, default: true,
      "Whether calls end in audit_unavailable when they cannot be recorded; else they go on, and the gap is counted.")
    subjects = keys.value(
      "subjects", .choice(Subjects.self, placeholder: .plain), default: .plain,
      "How records show users: plain, as a digest (keyed, with a key), or none.")
    if let key, key.value.reveal().count < Self.minimumKeyBytes {
      keys.problem("the key has fewer than \(Self.minimumKeyBytes) bytes", at: "keyFile")
    }
  }
}
