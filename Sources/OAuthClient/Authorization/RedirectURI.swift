import HTTPMessages
import PosternSupport

/// A redirect URI, compared as a URL (RFC 3986 section 6.2.2 and 6.2.3): a browser writes scheme and host in lower case,
/// a slash for an empty path, and no default port.
package struct RedirectURI: Sendable {
  /// Everything before the query.
  private enum Location: Equatable {
    case web(HTTPURL)
    /// Of another scheme, or no URL that both sides read alike: compared byte by byte but for the scheme.
    case other(scheme: String, rest: String)

    init(_ text: String) {
      let bare = String(text.prefix(beforeBytes: "?"))
      do throws(HTTPURLError) {
        // A URI with a fragment is not a redirect URI; parsed without it, it could equal one.
        guard !bare.utf8.contains(UInt8(ascii: "#")) else { throw HTTPURLError(.forbiddenCharacter) }
        self = .web(try HTTPURL(bare))
      } catch {
        let scheme = bare.prefix(beforeBytes: ":")
        self = .other(scheme: scheme.lowercasedASCII(), rest: String(Substring(bare.utf8.dropFirst(scheme.utf8.count))))
      }
    }
  }

  private let location: Location
  /// Its own parameters, which an issuer must retain (RFC 6749 section 3.1.2).
  private let parameters: [String: [String]]

  /// The redirect URI of an authorization request.
  package init(_ text: String) {
    location = Location(text)
    let query = text.split(atByte: "?", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
    parameters = Dictionary(grouping: FormEncoding.readableFields(of: query), by: \.name).mapValues { $0.map(\.value) }
  }

  /// Whether `url` is at this redirect URI, whatever its query.
  package func isLocation(of url: String) -> Bool { location == Location(String(url.prefix(beforeBytes: "#"))) }

  /// Whether browsers of other machines cannot reach it.
  package var isLoopback: Bool { if case .web(let url) = location { url.origin.isLocal } else { false } }

  /// Whether `callback` is at this redirect URI: with its parameters, and those that the issuer has added.
  package func isTarget(of callback: AuthorizationCallback) -> Bool {
    isLocation(of: callback.location) && parameters.allSatisfy { callback.values(of: $0.key) == $0.value }
  }
}
