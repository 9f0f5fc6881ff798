/// What a gateway or a resource server asks a user to do before it lets a request through.
///
/// Of an access manager's policies (PingAM, ForgeRock AM), of RFC 9470 or of User-Managed Access.
public struct PolicyAdvice: Sendable, Hashable {
  /// What kind of advice it is: `TransactionConditionAdvice`. See `PolicyAdvice.Name`.
  public let type: String
  /// What is asked for: a tree, a level, the identifier of a transaction, a ticket. Empty for RFC 9470.
  public let value: String
  /// The realm that the source named.
  public let realm: String?
  /// The authentication contexts of which one is asked for (RFC 9470 section 3); nil: any.
  public let acrValues: [String]?
  /// How many seconds ago the user may have authenticated at most (RFC 9470 section 3); nil: any time.
  public let maxAge: Int?

  /// An advice of an access manager's policy.
  public init(type: String, value: String, realm: String? = nil) {
    self.init(type: type, value: value, realm: realm, acrValues: nil, maxAge: nil)
  }

  /// A challenge of RFC 9470: authenticate anew, in one of these contexts, not longer ago than this.
  public static func insufficientUserAuthentication(acrValues: [String]?, maxAge: Int?) -> PolicyAdvice {
    PolicyAdvice(
      type: Name.insufficientUserAuthentication, value: "", realm: nil, acrValues: acrValues, maxAge: maxAge)
  }

  private init(type: String, value: String, realm: String?, acrValues: [String]?, maxAge: Int?) {
    self.type = type
    self.value = value
    self.realm = realm
    self.acrValues = acrValues
    self.maxAge = maxAge
  }

  /// The transaction it belongs to; nil when it is about none.
  public var txId: String? { isTransaction ? value : nil }

  /// About how much memory it takes.
  package var byteCount: Int {
    128 + type.utf8.count + value.utf8.count + (realm?.utf8.count ?? 0)
      + (acrValues ?? []).reduce(0) { $0 + 32 + $1.utf8.count }
  }

  /// Whether it is about this one request: good once, and only after every other advice has been satisfied.
  public var isTransaction: Bool { type == Name.transaction }

  /// Whether satisfying it is a walk through the access manager's authentication. A `SessionConditionAdvice` says
  /// `deny` and means it.
  public var isCompositeAdvice: Bool {
    type != Name.session && type != Name.insufficientUserAuthentication && type != Name.umaTicket
  }
}
