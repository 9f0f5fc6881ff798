public import PosternKit

extension Shop {
  /// Answers the pages of a journey to its end.
  public func completed(_ begun: JourneyNode.Outcome) async throws(JourneyError) -> JourneyEnd? {
    var outcome = begun
    while case .node(var node) = outcome {
      node.callbacks = try node.callbacks.map(answered)
      outcome = try await node.next()
    }
    guard case .completed(let end) = outcome else { return nil }
    return end
  }

  /// The user's answer to a callback: here always the same, in a program a form.
  private func answered(_ callback: any TypedCallback) throws(JourneyError) -> any TypedCallback {
    switch callback {
    case var name as NameCallback:
      name.setValue("alice")
      return name
    case var password as PasswordCallback:
      password.setValue("alice-password")
      return password
    case var confirmation as ConfirmationCallback:
      try confirmation.setValue("Yes")
      return confirmation
    default: return callback
    }
  }

  /// A login through the access manager's tree.
  public func treeLogin() async throws(JourneyError) -> SessionHandle? {
    let begun = try await postern.journeys.authenticate(tree: "Login")
    return try await completed(begun)?.session
  }

  /// A request that waits while its user satisfies the advice that it meets.
  public func pay(_ session: SessionHandle) async throws(ResourceError) -> ResourceResponse {
    let payment = ResourceRequest(path: "transaction/pay", method: "POST", body: Array("10 coins".utf8))
    return try await postern.fetch(payment, from: "bank", session: session) { advices, session in
      let begun = try? await postern.authenticate(with: advices, session: session)
      guard let begun else { return false }
      return (try? await completed(begun)) != nil
    }
  }

  /// The same in two calls: the fetch ends at the advice, and is continued.
  public func payLater(_ session: SessionHandle) async throws -> ResourceResponse {
    let payment = ResourceRequest(path: "service/pay", method: "POST", body: Array("10 coins".utf8))
    do throws(ResourceError) {
      return try await postern.fetch(payment, from: "bank", session: session)
    } catch {
      guard error.code == .adviceRequired, let stop = error.stop else { throw error }
      _ = try await completed(postern.authenticate(with: stop.advices, session: stop.session))
      return try await postern.fetch(payment, from: "bank", continuing: stop)
    }
  }

  /// A request that requires a stronger login in the browser (RFC 9470).
  public func vault(
    _ session: SessionHandle, show: @escaping @Sendable (_ url: String) -> Void
  ) async throws -> ResourceResponse {
    try await postern.fetch(ResourceRequest(path: "vault"), from: "orders", session: session) { advices, session in
      let outcome = try? await postern.journeys.stepUpInBrowser(with: advices, session: session, open: show)
      guard case .completed? = outcome else { return false }
      return true
    }
  }
}
