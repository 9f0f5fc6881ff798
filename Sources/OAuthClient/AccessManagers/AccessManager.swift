public import HTTPMessages
public import PosternSupport

/// The access manager (PingAM, ForgeRock AM) of an issuer: it identifies users by a single sign-on token in a cookie.
public struct AccessManager: Sendable, Hashable {
  /// The default time for which an authentication tree or a transaction waits for the user.
  package static let usualJourneyLife = Duration.seconds(180)

  /// Its base URL: `https://am.example.com/am`. The single sign-on token goes to this origin only.
  public let baseURL: HTTPURL
  /// The realm as a path: `/realms/root/realms/alpha`.
  public let realmPath: String
  /// The name of the single sign-on cookie; nil to request it from the server.
  public let cookieName: String?
  /// The redirect URI of the client's codes: registered there, never opened.
  public let redirectURI: String?

  /// An access manager of the given parts.
  public init(baseURL: HTTPURL, realmPath: String, cookieName: String? = nil, redirectURI: String? = nil) {
    self.baseURL = baseURL
    self.realmPath = realmPath
    self.cookieName = cookieName
    self.redirectURI = redirectURI
  }

  /// Whether `token` is allowed in a cookie (RFC 6265 section 4.1.1).
  package static func isToken(_ token: String) -> Bool {
    (1...(16 << 10)).contains(token.utf8.count)
      && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\",;\\".utf8.contains($0) }
  }

  /// Returns the URL of a path below the base URL.
  package func url(_ path: String, query: String? = nil) throws(TokenError) -> HTTPURL {
    do throws(HTTPURLError) {
      return try baseURL.appending(relativePath: path).addingQuery(query ?? "")
    } catch {
      throw TokenError(.notPossible, "the access manager's URL \(error.phrase)")
    }
  }
}

extension AccessManager: ConciseStringConvertible {
  /// URL and realm.
  public var description: String {
    "access manager at \(baseURL.shown), realm \(Concise.name(realmPath))"
  }
}
