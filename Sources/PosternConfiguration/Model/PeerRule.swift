import PosternJSON

/// One access rule: a peer with the uid and the gid, as far as they are given, may call the methods on the resources.
public struct PeerRule: Sendable, Equatable {
  /// The caller's user id; nil matches every one.
  public var uid: UInt32?
  /// The caller's group id; nil matches every one.
  public var gid: UInt32?
  /// The methods, `*` for all of them; empty for none.
  public var methods: [String]
  /// The configured resources; nil or `*` for all of them.
  public var resources: [String]?
  /// The configured issuers; nil or `*` for all of them.
  public var issuers: [String]?
  /// The configured decision points; nil or `*` for all of them.
  public var preauthorization: [String]?
  /// How often each uid the rule matches may call; nil: no limit.
  public var rate: CallRateConfiguration?
  /// How many calls of each uid the rule matches may be under way; nil: any number.
  public var concurrency: Int?
}

extension PeerRule {
  /// Whether it matches every caller that `other` matches.
  func matches(all other: PeerRule) -> Bool {
    // A group that is not known is a problem by itself.
    guard uid != nil || gid != nil, other.uid != nil || other.gid != nil else { return false }
    return (uid == nil || uid == other.uid) && (gid == nil || gid == other.gid)
  }
}

extension PeerRule: ConfigurationSection {
  package init(reading keys: SectionReader) {
    // (uid_t) -1 means "no change" to the kernel and is no user.
    let identifiers = ValueForm.integer(0...Int(UInt32.max - 1))
    uid = keys.optional("uid", identifiers, "User id the rule is about.", example: .shown(1000)).map(UInt32.init)
    let number = keys.optional(
      "gid", identifiers, "Group id the rule is about. With uid as well both must match.", example: .commented(3000)
    ).map(UInt32.init)
    let name = keys.optional(
      "group", .group, "The same by the group's name, looked up when the configuration is loaded.",
      example: .commented("app"))
    gid = number ?? name.flatMap(keys.context.dependencies.groupIdentifier)
    if keys.isGiven("gid"), keys.isGiven("group") { keys.problem("give only one of gid, group", at: "group") }
    methods = keys.requiredList(
      "methods", of: .methodName, "Methods these callers may call; \"*\" for all, an empty list for none.",
      example: .shown(["*"]))
    resources = keys.optionalList(
      "resources", of: .text, "Resources these callers may use. Left out: all.", example: .commented(["billing"]))
    issuers = keys.optionalList(
      "issuers", of: .text, "Issuers these callers may name, and whose sessions they see. Left out: all.",
      example: .commented(["corp"]))
    preauthorization = keys.optionalList(
      "preauthorization", of: .text, "Decision points these callers may use. Left out: all.",
      example: .commented(["streaming"]))
    rate = keys.optionalSection(
      "rate", CallRateConfiguration.self,
      "How often each uid the rule matches may call; more is answered with overloaded. Probes do not count.")
    concurrency = keys.optional(
      "concurrency", .integer(1...65_536),
      "Calls under way at a time of each uid the rule matches; more are answered with overloaded.",
      example: .commented(32))
    if uid == nil, gid == nil, !keys.isGiven("uid"), !keys.isGiven("gid"), !keys.isGiven("group") {
      keys.problem("a rule needs uid, gid or group")
    }
  }
}

extension ValueForm where Value == String {
  /// The name of a method as on the wire, or `*`.
  fileprivate static var methodName: Self {
    text(schema: { ["type": "string", "pattern": "^([*]|[$]?[A-Za-z./]+)$"] }) { name, _ throws(ValueProblem) in
      let isName = name.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "a"..."z", "A"..."Z", ".", "/", "$": true
        default: false
        }
      }
      guard name == "*" || isName else {
        throw ValueProblem("must be the name of a method, such as fetchResource, or \"*\"")
      }
      return name
    }
  }
}

/// A rate limit of calls: a token bucket.
public struct CallRateConfiguration: Sendable, Equatable {
  /// Calls a second in the long run.
  public var perSecond: Double
  /// Calls at once after a pause.
  public var burst: Int
}

extension CallRateConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    perSecond = keys.value(
      "perSecond", .number(above: 0, upTo: 1_000_000), default: 100, "Calls a second in the long run.")
    burst = keys.value("burst", .integer(1...1_000_000), default: 200, "Calls at once after a pause.")
  }
}
