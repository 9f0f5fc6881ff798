import PosternSupport

/// Authorizations that wait for their user, whose client has a tree of its own.
struct ClientTreeDesk: Sendable {
  let settings: AccessManagerSettings
  let transactions: TransactionDesk
  let journeys: JourneyDesk
  /// The transaction of each, by what the request is recognised.
  let waiting: ExpiringStore<String>
  /// Where the access manager is, as a redirect names it.
  let base: String

  /// The redirect to the login page; nil when the request may go on.
  func redirect(_ form: FormParameters, _ session: ProviderSession) -> Reply? {
    guard let tree = settings.values.clientTree else { return nil }
    guard tree != .service else {
      guard !journeys.trees(of: session.authentication.sessionID).contains(ClientTree.tree) else { return nil }
      return redirect(
        "AuthenticateToServiceConditionAdvice", "/\(AccessManager.realm):\(ClientTree.tree)", tree, form)
    }
    let name = form["state"] ?? ""
    if tree != .again, let id = waiting.take(name),
      transactions.redeem(id, subject: session.user.subject, resource: name)
    {
      return nil
    }
    guard let id = transactions.begin(for: session.user.subject, resource: name),
      waiting.insert(id, under: name, for: settings.values.transactionLife) || tree == .again
    else { return OAuthError.full.reply }
    return redirect("TransactionConditionAdvice", id, tree, form)
  }

  private func redirect(_ type: String, _ value: String, _ tree: ClientTree, _ form: FormParameters) -> Reply {
    let xml =
      "<Advices><AttributeValuePair><Attribute name=\"\(type)\"/><Value>\(value)</Value></AttributeValuePair></Advices>"
    let server = tree == .foreignLogin ? "https://am.evil.test/am" : base
    let parameters = [
      ("realm", "/\(AccessManager.realm)"), ("authIndexType", "composite_advice"), ("authIndexValue", xml),
      ("goto", goingOn(tree, form)), ("oauthObjectKey", RandomText.next()),
    ]
    return .redirect(302, to: "\(server)/UI/Login?\(Self.query(parameters))")
  }

  /// The request once more, without consent.
  private func goingOn(_ tree: ClientTree, _ form: FormParameters) -> String {
    let parameters = form.all.filter { $0.name != "decision" && $0.name != "csrf" }.map { parameter in
      (parameter.name, tree == .otherGoto && parameter.name == "client_id" ? "cli" : parameter.value)
    }
    let server = tree == .foreignGoto ? "https://am.evil.test/am" : base
    let endpoint = tree == .otherPath ? "revoke" : "authorize"
    return "\(server)/oauth2\(AccessManager.realmPath)/\(endpoint)?\(Self.query(parameters))"
  }

  private static func query(_ parameters: [(String, String)]) -> String {
    parameters.map { "\(PercentCoding.encode($0.0))=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
  }
}
