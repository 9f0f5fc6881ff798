public import HTTPMessages
package import OAuthClient

/// The access manager (PingAM, ForgeRock AM) behind an issuer: it knows users by a single sign-on token in a cookie.
public struct AccessManager: Sendable, Hashable {
  /// How long an authentication tree or a transaction of its waits for the user by default.
  package static let usualJourneyLife = Duration.seconds(180)

  /// Its base URL: `https://am.example.com/am`. The single sign-on token goes to this origin only.
  public let baseURL: HTTPURL
  /// The realm as it stands in paths: `/realms/root/realms/alpha`.
  public let realmPath: String
  /// The name of the single sign-on cookie; nil: the server is asked.
  public let cookieName: String?
  /// Where the client has its codes sent: registered there, never opened.
  public let redirectURI: String?

  /// An access manager of the given parts.
  public init(baseURL: HTTPURL, realmPath: String, cookieName: String? = nil, redirectURI: String? = nil) {
    self.baseURL = baseURL
    self.realmPath = realmPath
    self.cookieName = cookieName
    self.redirectURI = redirectURI
  }

  /// Whether `token` can stand in a cookie (RFC 6265 section 4.1.1).
  package static func isToken(_ token: String) -> Bool {
    (1...(16 << 10)).contains(token.utf8.count)
      && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\",;\\".utf8.contains($0) }
  }

  /// A place below the base URL.
  package func url(_ path: String, query: String? = nil) throws(TokenError) -> HTTPURL {
    do throws(HTTPURLError) {
      return try baseURL.appending(relativePath: path).addingQuery(query ?? "")
    } catch {
      throw TokenError(.notPossible, "the access manager's URL \(error)")
    }
  }
}
