/// An advice on the wire (wire.md section 4.4).
public struct PolicyAdviceDescription: RPCObject, Hashable {
  public var type: String
  public var value: String?
  public var txId: String?
  public var authIndexType: String?
  public var authIndexValue: String?
  public var realm: String?
  public var acrValues: [String]?
  public var maxAge: Int?

  /// An advice of that type; the rest is set one by one.
  public init(type: String) { self.type = type }

  public static let memberDocs = [
    "type":
      "TransactionConditionAdvice, AuthenticateToServiceConditionAdvice, …; insufficient_user_authentication (RFC 9470); uma_ticket",
    "value": "The value of the advice; with every type but insufficient_user_authentication",
    "txId": "The transaction it is about; with TransactionConditionAdvice only",
    "authIndexType": "The authIndexType of requests to the access manager: composite_advice",
    "authIndexValue": "The advice in the access manager's XML, escaped and without white space",
    "realm": "The realm its source named",
    "acrValues": "The authentication contexts of which one is required (RFC 9470)",
    "maxAge": "How many seconds ago the user may have authenticated at most (RFC 9470)",
  ]
}
