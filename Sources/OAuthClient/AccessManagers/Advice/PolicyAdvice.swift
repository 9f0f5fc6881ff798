public import PosternSupport

/// An action that a gateway or a resource server requires of a user before it permits a request.
///
/// It comes from an access manager's policies (PingAM, ForgeRock AM), RFC 9470 or User-Managed Access.
public struct PolicyAdvice: Sendable, Hashable {
  /// The type of advice: `TransactionConditionAdvice`. See `PolicyAdvice.Name`.
  public let type: String
  /// The required tree, level, transaction or ticket, by its name. Empty for RFC 9470.
  public let value: String
  /// The realm that the source named.
  public let realm: String?
  /// The accepted authentication contexts (RFC 9470 section 3); nil for any.
  public let acrValues: [String]?
  /// The longest time in seconds since the user's authentication (RFC 9470 section 3); nil for any.
  public let maxAge: Int?

  /// An advice of an access manager's policy.
  public init(type: String, value: String, realm: String? = nil) {
    self.init(type: type, value: value, realm: realm, acrValues: nil, maxAge: nil)
  }

  /// A challenge of RFC 9470: another authentication, in one of these contexts, not longer ago than this.
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

  /// The approximate size in memory.
  package var byteCount: Int {
    128 + type.utf8.count + value.utf8.count + (realm?.utf8.count ?? 0)
      + (acrValues ?? []).reduce(0) { $0 + 32 + $1.utf8.count }
  }

  /// Whether it is about this one request: valid once, and only after every other advice has been satisfied.
  public var isTransaction: Bool { type == Name.transaction }

  /// Whether it is satisfied by an authentication at the access manager. A `SessionConditionAdvice` is not: it is a
  /// final `deny`.
  public var isCompositeAdvice: Bool {
    type != Name.session && type != Name.insufficientUserAuthentication && type != Name.umaTicket
  }
}

extension PolicyAdvice {
  /// The known types of advice; any other type from an access manager is passed on.
  public enum Name {
    /// Confirm this one transaction; the value is its identifier.
    public static let transaction = "TransactionConditionAdvice"
    /// Go through a chain or tree; the value is its name: `Tree`, `/realm:Tree`.
    public static let service = "AuthenticateToServiceConditionAdvice"
    /// Go through a tree.
    public static let tree = "AuthenticateToTreeConditionAdvice"
    /// Authenticate in a realm.
    public static let realm = "AuthenticateToRealmConditionAdvice"
    /// Reach an authentication level.
    public static let level = "AuthLevelConditionAdvice"
    /// Authenticate by a module.
    public static let scheme = "AuthSchemeConditionAdvice"
    /// The session itself is denied; the user can do nothing in it.
    public static let session = "SessionConditionAdvice"
    /// RFC 9470 section 3.
    public static let insufficientUserAuthentication = "insufficient_user_authentication"
    /// User-Managed Access 2.0 grant, section 3.2.2: a permission ticket.
    public static let umaTicket = "uma_ticket"
  }
}

extension PolicyAdvice: ConciseStringConvertible {
  /// Type and value; a transaction's value is a secret of the user's.
  public var description: String {
    Concise.text(
      Concise.name(type), isCompositeAdvice && !isTransaction ? Concise.name(value) : nil,
      realm.map { "realm \(Concise.name($0))" }, acrValues.map { Concise.list($0, of: "acr value") },
      maxAge.map { "authenticated at most \($0) s ago" })
  }
}
