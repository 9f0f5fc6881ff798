package import OAuthClient

extension ResourceServer {
  /// The server as a fetch with `options` uses it: with the authentication that the options choose.
  package func applying(_ options: FetchOptions) -> ResourceServer {
    guard let chosen = options.authentication, chosen != authentication else { return self }
    var server = self
    server.authentication = chosen
    return server
  }

  /// The grant for tokens on behalf of users; nil without an issuer, or where none are exchanged.
  package var exchangeGrant: ExchangeGrant? {
    guard let issuer = tokens.issuer, let exchange = tokens.exchange else { return nil }
    return ExchangeGrant(issuer: issuer, resource: name, exchange: exchange)
  }

  /// Why no advice is satisfied in fetches from this server, as a clause for people; nil: nothing prevents it.
  package var adviceObstacle: String? {
    guard let advice else { return nil }
    guard advice.allowsAccessManager || advice.allowsAuthorization else {
      return "the advice rules of resource \(name) name no access manager and allow no new login"
    }
    return nil
  }

  /// Whether a response of a status is certainly the last one of its fetch, so that its body may be delivered while it
  /// arrives: not where the response may be a redirect, a rejected token, or a challenge. Those are small; where one
  /// is the last all the same, its body is delivered at its end.
  func streams(consultsDelegate: Bool) -> @Sendable (Int) -> Bool {
    let refreshOn = tokens.refreshOn
    return { status in
      if (300..<400).contains(status) || status == 401 || status == 403 { return false }
      if let refreshOn, refreshOn.contains(status) { return false }
      return !consultsDelegate || (200..<300).contains(status)
    }
  }
}
