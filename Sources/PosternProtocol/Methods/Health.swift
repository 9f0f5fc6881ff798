/// `health`: does it work.
public enum Health: RPCMethod {
  public typealias Params = NoParams
  public static let name = "health"
  public static let bounds: PeerBounds = .all
  public static let summary = "Whether the sidecar can do its work, by check"
  public static let explanation =
    "Never calls an identity provider: it reports what the last real use showed. `degraded` means that some calls will fail, `down` that all will."
  public static let resultSummary = "The overall status and each check"

  /// A check's outcome, and the overall one: the worst of them.
  public enum Status: String, SchemaEnumeration, Sendable {
    case ok, degraded, down
  }

  /// One check.
  public struct Check: RPCObject {
    public let status: Status
    public let detail: String?
    public let ageMs: Int64?

    /// A check of the given parts.
    public init(status: Status, detail: String? = nil, ageMs: Int64? = nil) {
      self.status = status
      self.detail = detail
      self.ageMs = ageMs
    }

    public static let memberDocs = [
      "status": "The check's outcome",
      "detail": "Why, for people",
      "ageMs": "How long ago it was observed, in milliseconds",
    ]
  }

  public struct Result: RPCObject {
    public let status: Status
    public var checks: [String: Check]

    /// A result of the given parts.
    public init(status: Status, checks: [String: Check]) {
      self.status = status
      self.checks = checks
    }

    /// The checks come in the order of their names: two answers can be compared as they are.
    public func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      try members.encode(status, forKey: .status)
      var byName = members.nestedContainer(keyedBy: CheckName.self, forKey: .checks)
      for (name, check) in checks.sorted(by: { $0.key < $1.key }) {
        try byName.encode(check, forKey: CheckName(stringValue: name))
      }
    }

    private struct CheckName: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    public static let memberDocs = [
      "status": "The worst of the checks",
      "checks": "Each check by its name, e.g. `configuration` or `issuer.corp`",
    ]
  }
}
