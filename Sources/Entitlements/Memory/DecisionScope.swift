import PosternJSON
import PosternSupport
public import Sessions
import TokenValidation

/// Everything a decision depends on beside the resource: full values, never digests, so that nobody is answered with
/// what was decided about somebody or something else.
struct DecisionScope: Sendable, Hashable {
  /// How many parts scopes are divided into.
  static let parts = 64

  let bytes: [UInt8]
  /// Made once: to look up hashes this instead of all bytes. Seeded by the process.
  private let digest: Int
  let provider: String
  let owner: UInt32
  let session: SessionHandle?

  init(_ point: DecisionPoint, _ subject: DecisionSubject, context: JSONObject) {
    var key = PolicyFingerprint(kind: "decision")
    // Another configuration is another decision point.
    key.add("\(point.revision)")
    key.add("\(subject.owner)")
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
    owner = subject.owner
    session = subject.session?.handle
  }

  static func == (left: DecisionScope, right: DecisionScope) -> Bool {
    // Those that differ mostly do so here, however much they begin with in common.
    left.digest == right.digest && left.bytes == right.bytes
  }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  /// The one that it belongs to.
  var part: Int { digest & (Self.parts - 1) }
}

/// Which remembered decisions are meant.
public struct DecisionSelection: Sendable {
  /// Whose; nil: everybody's.
  public var owner: UInt32?
  /// Of which decision point; nil: of all.
  public var provider: String?
  /// Of which session; nil: of all, and of subjects that callers named.
  public var session: SessionHandle?
  /// About which resources; nil: about all.
  public var resources: [String]?

  /// Everything, unless narrowed.
  public init(
    owner: UInt32? = nil, provider: String? = nil, session: SessionHandle? = nil, resources: [String]? = nil
  ) {
    self.owner = owner
    self.provider = provider
    self.session = session
    self.resources = resources
  }

  /// The same as names.
  var names: Set<ResourceName>? { resources.map { Set($0.map { ResourceName($0) }) } }

  func includes(_ scope: DecisionScope) -> Bool {
    if let owner, owner != scope.owner { return false }
    if let provider, !provider.hasSameBytes(as: scope.provider) { return false }
    if let session, session != scope.session { return false }
    return true
  }
}

extension Set<ResourceName> {
  /// Those that have an entry. Goes over the smaller of the two: the other may be somebody's very many.
  func found<Value>(in entries: [ResourceName: Value]) -> [ResourceName] {
    count < entries.count ? lazy.filter { entries[$0] != nil }.map(\.self) : entries.keys.filter(contains)
  }
}
