import Playground
import PosternExamples
import PosternKit

extension Shop {
  /// Runs `body` with a playground of its own behind the configuration of the guide, and stops both whatever happens.
  /// `change` changes the configuration before.
  static func atPlayground(
    _ change: (inout JSONObject, _ baseURL: String) throws -> Void = { _, _ in },
    _ body: (Shop, PlayedUser) async throws -> Void
  ) async throws {
    let playground = try await PlaygroundServer.start()
    do {
      var configuration = configuration(playground)
      try change(&configuration, playground.baseURL)
      var options = Postern.Options()
      options.environment = [:]
      let postern = try await Postern(configuration: configuration, options: options)
      do {
        try await body(Shop(postern), PlayedUser(at: playground.baseURL))
      } catch {
        await postern.close()
        throw error
      }
      await postern.close()
    } catch {
      await playground.stop()
      throw error
    }
    await playground.stop()
  }

  /// The configuration of the guide, with the playground's addresses and well-known secrets.
  private static func configuration(_ playground: PlaygroundServer) -> JSONObject {
    let base = playground.baseURL
    let protected: JSONObject = ["baseUrl": .string("\(base)/resource/"), "issuer": "corp", "scope": "orders"]
    func resource(_ auth: JSONValue, _ path: String = "resource") -> JSONValue {
      var resource = protected
      resource["auth"] = auth
      resource["baseUrl"] = .string("\(base)/\(path)/")
      return .object(resource)
    }
    return [
      "issuers": [
        "corp": [
          "issuer": .string(playground.issuer), "clientId": "shop", "clientSecret": "shopsecret",
          "scope": "openid profile orders", "redirectUri": "http://127.0.0.1/callback",
          "implicit": ["grant": "client_credentials", "scope": "orders"],
          "accessManager": ["baseUrl": .string("\(base)/am"), "realm": "alpha"],
        ]
      ],
      "resources": [
        "time": ["baseUrl": .string("\(base)/open/"), "auth": "none"],
        "open": ["baseUrl": .string("\(base)/open/"), "auth": "none"],
        "jobs": resource("clientCredentials"), "orders": resource("user"), "news": resource("implicit"),
        "bank": resource("user", "gateway"),
      ],
      "preauthorization": [
        "policies": [
          "kind": "access-manager", "baseUrl": .string("\(base)/am"), "issuer": "corp", "action": "GET",
          "cookieName": "playgroundSSO", "attempts": 1,
          "credentials": ["username": "warden", "password": "warden-password"],
        ]
      ],
      "store": ["kind": "memory"],
      "tokens": ["leaveTheSidecar": true],
      "development": ["plainHTTPOnLoopback": true],
    ]
  }
}
