extension ResourceServer {
  /// Why no advice is satisfied in fetches with `options`, as a clause for people; nil: nothing keeps it from that.
  package func adviceObstacle(_ options: FetchOptions) -> String? {
    guard (options.authentication ?? authentication) == .user else {
      return "requests to resource \(name) carry no user's token, and only a user can satisfy advice"
    }
    guard let advice else { return "resource \(name) has no rules for advice (ResourceServer.advice)" }
    guard advice.accessManager != nil || advice.allowsAuthorization else {
      return "the advice rules of resource \(name) name no access manager and allow no new login"
    }
    return nil
  }
}
