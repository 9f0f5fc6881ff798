public import PosternSupport

/// `health`: does it work.
public enum Health: RPCMethod {
  public typealias Params = NoParams
  public static let name = "health"
  public static let bounds: PeerBounds = .all
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.needsNoSlot, .needsNoApproval, .isProbe]
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

/// `metrics`: the Prometheus text exposition format, over the socket.
public enum Metrics: RPCMethod {
  public typealias Params = NoParams
  public static let name = "metrics"
  public static let bounds: PeerBounds = .all
  public static let chain: ChainRule = .checked
  public static let summary = "Counters and histograms in Prometheus' text format"
  public static let resultSummary = "The exposition"

  public struct Result: RPCObject {
    public let text: String

    /// The exposition as one text.
    public init(text: String) { self.text = text }

    public static let memberDocs = ["text": "Prometheus text exposition format 0.0.4"]
  }
}

/// `reloadConfig`: the same as SIGHUP.
public enum ReloadConfig: RPCMethod {
  public typealias Params = NoParams
  public static let name = "reloadConfig"
  public static let bounds: PeerBounds = .all
  public static let chain: ChainRule = .beyond(.all)
  public static let traits: MethodTraits = .needsNoSlot
  public static let summary = "Reads the configuration again"
  public static let explanation =
    "Read and checked whole before anything changes: with any problem the running configuration stays. Calls in flight finish on the configuration they began with."
  public static let resultSummary = "The changed keys"
  public static let errors: [ErrorCode] = [.configurationInvalid]

  public struct Result: RPCObject {
    public let changed: [String]

    /// The keys that changed.
    public init(changed: [String]) { self.changed = changed }

    public static let memberDocs = [
      "changed": "The keys that differ from before, e.g. `resources.billing`; may be empty"
    ]
  }
}
