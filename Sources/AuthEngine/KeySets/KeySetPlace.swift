import HTTPMessages

/// Where a key set is published, with everything that decides what is trusted there: a change in any part makes another
/// place, with a cache of its own.
enum KeySetPlace: Sendable, Hashable {
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

  var caFile: String? {
    switch self {
    case .issuer(let issuer): issuer.caFile
    case .location(_, let caFile, _): caFile
    }
  }

  var allowsPlainHTTPOnLoopback: Bool {
    switch self {
    case .issuer(let issuer): issuer.allowsPlainHTTPOnLoopback
    case .location(_, _, let allowed): allowed
    }
  }
}
