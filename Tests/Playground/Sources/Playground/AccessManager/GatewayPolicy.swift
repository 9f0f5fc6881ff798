/// The conditions of the gateway, by the first part of the path behind it.
enum GatewayPolicy: String, Sendable {
  /// Nothing.
  case open
  /// The tree `ConfirmPassword`.
  case service
  /// Authentication level 5: the tree `Otp`.
  case level
  /// A transaction for each request.
  case transaction
  /// The tree `ConfirmPassword`, and then a transaction.
  case both

  /// The trees that the session must have gone through.
  var trees: [String] {
    switch self {
    case .open, .transaction: []
    case .service, .both: ["ConfirmPassword"]
    case .level: ["Otp"]
    }
  }

  /// Whether each request needs a transaction.
  var isTransactional: Bool { self == .transaction || self == .both }

  /// The advice that leads through `tree`.
  func advice(for tree: String) -> (type: String, value: String) {
    self == .level
      ? (type: "AuthLevelConditionAdvice", value: "5")
      : (type: "AuthenticateToServiceConditionAdvice", value: "/\(AccessManager.realm):\(tree)")
  }
}
