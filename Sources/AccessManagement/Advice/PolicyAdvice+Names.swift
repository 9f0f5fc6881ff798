extension PolicyAdvice {
  /// The types of advice there are; what an access manager sends beside them is passed on as it is.
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
    /// The session itself is in the way; nothing the user can do in it.
    public static let session = "SessionConditionAdvice"
    /// RFC 9470 section 3.
    public static let insufficientUserAuthentication = "insufficient_user_authentication"
    /// User-Managed Access 2.0 grant, section 3.2.2: a permission ticket.
    public static let umaTicket = "uma_ticket"
  }
}
