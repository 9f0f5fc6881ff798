import PosternJSON
public import PosternSupport
public import Sessions
import TokenValidation

/// Everything but the resource that a decision depends on: full values, never digests, so that no caller gets a
/// decision about another subject or context.
struct DecisionScope: Sendable, Hashable {
  /// The number of parts that scopes are divided into.
  static let parts = 64

  let bytes: [UInt8]
  /// The hash value, computed once, since a look-up would hash all bytes otherwise. Seeded by the process.
  private let digest: Int
  let provider: String
  let uid: UInt32
  let session: SessionHandle?

  init(_ point: DecisionPoint, _ subject: DecisionSubject, context: JSONObject) {
    var key = PolicyFingerprint(kind: "decision")
    // A changed configuration is another decision point.
    key.add("\(point.revision)")
    key.add("\(subject.uid)")
    key.add(subject.type)
    key.add(subject.id)
    key.add(subject.sessionMarks)
    key.add(point.settings.action)
    key.add(subject.properties.isEmpty ? "" : JSONWriter().string(.object(subject.properties)))
    key.add(context.isEmpty ? "" : JSONWriter().string(.object(context)))
    bytes = key.bytes
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    digest = hasher.finalize()
    provider = point.name
    uid = subject.uid
    session = subject.session?.handle
  }

  static func == (left: DecisionScope, right: DecisionScope) -> Bool {
    // Most differences show in the digest, however long the common prefix is.
    left.digest == right.digest && left.bytes == right.bytes
  }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  /// The part that the scope belongs to.
  var part: Int { digest & (Self.parts - 1) }
}

/// A selection of cached decisions.
public struct DecisionSelection: Sendable {
  /// The uid whose decisions are selected; nil selects all.
  public var uid: UInt32?
  /// The decision point; nil selects all.
  public var provider: String?
  /// The session; nil selects all, and the subjects that callers named.
  public var session: SessionHandle?
  /// The resources; nil selects all.
  public var resources: [String]?

  /// Selects everything that is not excluded by an argument.
  public init(
    uid: UInt32? = nil, provider: String? = nil, session: SessionHandle? = nil, resources: [String]? = nil
  ) {
    self.uid = uid
    self.provider = provider
    self.session = session
    self.resources = resources
  }

  /// The resources as names.
  var names: Set<ResourceName>? { resources.map { Set($0.map { ResourceName($0) }) } }

  func includes(_ scope: DecisionScope) -> Bool {
    if let uid, uid != scope.uid { return false }
    if let provider, !provider.hasSameBytes(as: scope.provider) { return false }
    if let session, session != scope.session { return false }
    return true
  }
}

extension Set<ResourceName> {
  /// Returns the names that have an entry. Iterates over the smaller of the two collections, since the other may be
  /// very large.
  func found<Value>(in entries: [ResourceName: Value]) -> [ResourceName] {
    count < entries.count ? lazy.filter { entries[$0] != nil }.map(\.self) : entries.keys.filter(contains)
  }
}

extension DecisionSelection: ConciseStringConvertible {
  /// The parts of the selection.
  public var description: String {
    Concise.text(
      "decisions", uid.map { "of uid \($0)" }, provider.map { "of \(Concise.name($0))" },
      session.map { "of session \($0)" }, resources.map { Concise.list($0, of: "resource") })
  }
}
