public import PosternJSONRPC

/// `reloadConfig`: the same as SIGHUP.
public enum ReloadConfig: RPCMethod {
  public typealias Params = NoParams
  public static let name = "reloadConfig"
  public static let bounds: PeerBounds = .all
  public static let summary = "Reads the configuration again"
  public static let explanation =
    "Read and checked whole before anything changes: with any problem the running configuration stays. Calls in flight finish on the configuration they began with."
  public static let resultSummary = "The changed keys"
  public static let errors: [RPCErrorCode] = [.configurationInvalid]

  public struct Result: RPCObject {
    public let changed: [String]

    /// The keys that changed.
    public init(changed: [String]) { self.changed = changed }

    public static let memberDocs = [
      "changed": "The keys that differ from before, e.g. `resources.billing`; may be empty"
    ]
  }
}

extension RPCErrorCode {
  /// The configuration file has problems; `data.problems` lists them.
  public static let configurationInvalid = RPCErrorCode(
    -32023, "configuration_invalid", "The configuration file has problems; the running configuration stays")
}
