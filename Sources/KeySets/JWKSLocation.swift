import HTTPMessages
import OAuthClient
import PosternSupport

/// Where a key set is published, with everything that decides what is trusted there: a change in any part makes another
/// place, with a cache of its own.
enum JWKSLocation: Sendable, Hashable {
  /// At the configured endpoint of an issuer, or where its metadata says.
  case issuer(Issuer)
  /// At a URL that a caller named and the configuration allows.
  case location(HTTPURL, caFile: String?, allowsPlainHTTPOnLoopback: Bool)

  var name: KeySetName {
    switch self {
    case .issuer(let issuer): .issuer(issuer.name)
    case .location(let url, _, _): .location(url.withoutQuery)
    }
  }

  /// Whether callers of several users share the set. What a caller names is kept for each user, and requested in the
  /// user's name: such requests would otherwise take the connections of everybody.
  var isEverybodys: Bool {
    switch self {
    case .issuer: true
    case .location: false
    }
  }

  /// How the key set is fetched: on a connection of its own, as everything that decides for all
  /// (`Issuer.transferOptions`).
  func transferOptions(deadline: Deadline, connectTimeout: Duration, maxBodyBytes: Int) -> TransferOptions {
    switch self {
    case .issuer(let issuer):
      issuer.transferOptions(
        deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes, forCaller: false)
    case .location(let url, let caFile, let allowed):
      TransferOptions(
        deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes, allowsPlainHTTP: allowed,
        caFile: caFile, allowsLinkLocal: url.origin.isLinkLocalAddress,
        requester: Requesting.uid.map { Requester(uid: $0, connection: 0) } ?? .process, reusesConnections: false)
    }
  }

  var allowsPlainHTTPOnLoopback: Bool {
    switch self {
    case .issuer(let issuer): issuer.allowsPlainHTTPOnLoopback
    case .location(_, _, let allowed): allowed
    }
  }
}
