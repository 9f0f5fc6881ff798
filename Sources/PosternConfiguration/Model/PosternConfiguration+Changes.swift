import ConfigurationReading

extension PosternConfiguration {
  /// The top-level keys whose values differ from `earlier`'s, in the order of the documentation. Secrets count by value
  /// and are never shown: a rotated client secret makes `issuers` differ.
  public func changedKeys(from earlier: PosternConfiguration) -> [String] {
    Self.comparisons.filter { !$0.isSame(self, earlier) }.map(\.key)
  }

  /// The top-level keys, or parts of them, that are read at start only.
  public static let keysReadAtStart: Set<String> = [
    "listen", "store", "log", "telemetry", "audit", "hardening", "http", "limits", "gateway",
  ]

  /// The keys of `keysReadAtStart` that differ from `earlier`'s. A store at the same location accepts new keys and
  /// passwords while it runs. Kerberos takes variables and files that are out of reach where it is not used at start.
  public func keysThatTakeARestart(from earlier: PosternConfiguration) -> [String] {
    changedKeys(from: earlier).filter { key in
      switch key {
      case "store": !store.isSameLocation(as: earlier.store)
      case "gateway": !gateway.hasSameListener(as: earlier.gateway)
      case "outbound": outbound.proxy?.auth == .negotiate && earlier.outbound.proxy?.auth != .negotiate
      default: Self.keysReadAtStart.contains(key)
      }
    }
  }

  /// One comparison for each top-level key; a test holds the keys against the schema.
  static let comparisons: [Comparison] = [
    Comparison("listen") { $0.listen },
    Comparison("peers") { $0.peers },
    Comparison("limits") { $0.limits },
    Comparison("tokens") { $0.tokens },
    Comparison("http") { $0.http },
    Comparison("gateway") { $0.gateway },
    Comparison("store") { $0.store },
    Comparison("validation") { $0.validation },
    Comparison("issuers") { $0.issuers },
    Comparison("resources") { $0.resources },
    Comparison("preauthorization") { $0.preauthorization },
    Comparison("outbound") { $0.outbound },
    Comparison("health") { $0.health },
    Comparison("log") { $0.log },
    Comparison("telemetry") { $0.telemetry },
    Comparison("audit") { $0.audit },
    Comparison("hardening") { $0.hardening },
    Comparison("development") { $0.development },
  ]

  /// A top-level key with the comparison of its values.
  struct Comparison: Sendable {
    let key: String
    fileprivate let isSame: @Sendable (PosternConfiguration, PosternConfiguration) -> Bool

    fileprivate init(_ key: String, _ value: @escaping @Sendable (PosternConfiguration) -> some Equatable & Sendable) {
      self.key = key
      isSame = { value($0) == value($1) }
    }
  }
}
