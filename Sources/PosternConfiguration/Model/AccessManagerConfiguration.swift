import HTTPMessages
import PosternJSON

/// The access manager (PingAM, ForgeRock AM) behind an issuer.
public struct AccessManagerConfiguration: Sendable, Equatable {
  /// Its base URL, as in `https://am.example.com/am`.
  public var baseURL: String
  /// The realm as configured: `alpha`, `alpha/beta`; nil, `root` and `/` are the root realm.
  public var realm: String?
  /// The name of the SSO cookie; nil requests it from the server.
  public var cookieName: String?

  /// An access manager.
  public init(baseURL: String, realm: String? = nil, cookieName: String? = nil) {
    self.baseURL = baseURL
    self.realm = realm
    self.cookieName = cookieName
  }

  /// The realm as the server's paths contain it: `/realms/root` and `/realms/NAME` for each level below it.
  public var realmPath: String {
    let levels = (realm ?? "").split(separator: "/").map(String.init)
    return "/realms/root" + levels.drop { $0 == "root" }.map { "/realms/\($0)" }.joined()
  }
}

extension AccessManagerConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    baseURL = keys.required(
      "baseUrl", .baseURL, "Base URL, as in https://am.example.com/am.", example: .shown("https://am.example.com/am"))
    realm = keys.optional(
      "realm", .realm, "Realm: alpha stands for /realms/root/realms/alpha. Left out: the root realm.",
      example: .shown("alpha"))
    cookieName = keys.optional(
      "cookieName", .cookieName, "Name of the SSO cookie. Default: read from the server (serverinfo).",
      example: .shown("iPlanetDirectoryPro"))
  }
}

extension ValueForm where Value == String {
  /// A realm: names separated by `/`.
  static var realm: Self {
    text { realm, _ throws(ValueProblem) in
      let areNames = realm.split(separator: "/").allSatisfy { name in
        name != "." && name != ".." && name != "realms"
          && name.unicodeScalars.allSatisfy { YAMLText.mayNameAnchor($0) || $0 == "." }
      }
      guard areNames else { throw ValueProblem("must be a realm's name such as alpha, or names separated by /") }
      return realm
    }
  }

  /// A cookie's name: a token of RFC 9110 section 5.6.2 (RFC 6265 section 4.1.1).
  static var cookieName: Self {
    text { name, _ throws(ValueProblem) in
      guard name.utf8.allSatisfy(ASCII.isTokenCharacter) else { throw ValueProblem("must be the name of a cookie") }
      return name
    }
  }
}
