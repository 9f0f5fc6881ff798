public import HTTPMessages

/// What a published key set is called in events and health.
public enum KeySetName: Sendable, Hashable {
  /// The set of the configured issuer of that name.
  case issuer(String)
  /// The set that a caller named by its URL; the query is left out.
  case location(HTTPURL)

  /// A name of which there are only as many as the configuration allows: a caller's URL is reduced to its origin.
  var bounded: String {
    switch self {
    case .issuer(let name): name
    case .location(let url): url.origin.description
    }
  }
}

extension KeySetName: CustomStringConvertible {
  /// The issuer's name, or the URL.
  public var description: String {
    switch self {
    case .issuer(let name): name
    case .location(let url): url.description
    }
  }
}
