import HTTPMessages

/// What follows from the configuration of a resource server and does not depend on the request.
final class PreparedResource: Sendable {
  let headers: HeaderRules
  let coverage: URLCoverage
  /// The policy of requests whose program has none of its own.
  let tokenPolicy: TokenManagementPolicy
  /// What the transfers of all requests have in common.
  let transfer: TransferOptions

  init(_ server: ResourceServer) {
    headers = HeaderRules(server)
    coverage = URLCoverage(locations: server.locations, plainHTTP: server.access.plainHTTP)
    tokenPolicy = TokenManagementPolicy(of: coverage, refreshOn: server.refreshOn)
    transfer = TransferOptions(to: server.access, maxBodyBytes: server.maxBodyBytes)
  }
}
