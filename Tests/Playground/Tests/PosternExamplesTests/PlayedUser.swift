import CurlTransport
import HTTPMessages
import PosternJSON
import PosternSupport

/// A user and their browser at a playground: an HTTP client that follows redirects, over the real addresses.
struct PlayedUser: Sendable {
  struct Stuck: Error {
    let status: Int
    let body: String
  }

  let baseURL: String
  private let transport: CurlTransport

  init(at baseURL: String) throws {
    self.baseURL = baseURL
    transport = try CurlTransport()
  }

  /// The playground's switch at `path`, with `body`.
  @discardableResult
  func control(_ path: String, _ body: JSONValue) async throws -> JSONValue {
    let answer = try await send("POST", "\(baseURL)/playground/\(path)", body)
    guard answer.status < 300 else {
      throw Stuck(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
    }
    return answer.body.isEmpty ? .null : try JSONParser().parse(answer.body)
  }

  /// The next logins happen without a page.
  func announceLogins() async throws { try await control("login", ["user": "alice"]) }

  /// Opens `url`, and returns where the issuer sends the browser back to.
  func callback(of url: String) async throws -> String {
    let answer = try await send("GET", url)
    guard let location = answer.fields["Location"] else {
      throw Stuck(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
    }
    return location
  }

  /// Opens `url`, goes where it leads, and reads the last page: the program's own, at its loopback address.
  func browse(_ url: String) async throws {
    let page = try await send("GET", try await callback(of: url))
    guard page.status == 200 else {
      throw Stuck(status: page.status, body: String(decoding: page.body, as: UTF8.self))
    }
  }

  /// An ID token of the playground for `nonce`, out of the fragment of an authorization response.
  func idToken(nonce: String) async throws -> String {
    let query = FormEncoding.encode([
      ("response_type", "code id_token"), ("client_id", "shop"), ("redirect_uri", "http://127.0.0.1/callback"),
      ("scope", "openid"), ("state", "s"), ("nonce", nonce),
    ])
    let callback = try await callback(of: "\(baseURL)/oidc/authorize?\(String(decoding: query, as: UTF8.self))")
    let fragment = callback.split(separator: "#", maxSplits: 1).last.map(String.init) ?? ""
    let parameters = FormEncoding.decode(fragment) ?? []
    guard let token = parameters.first(where: { $0.name == "id_token" })?.value else {
      throw Stuck(status: 0, body: callback)
    }
    return token
  }

  private func send(_ method: String, _ url: String, _ body: JSONValue? = nil) async throws -> HTTPResponse {
    var request = HTTPRequest(method: method, url: try HTTPURL(url))
    if let body {
      request.body = JSONWriter().write(body)
      request.fields["Content-Type"] = "application/json"
    }
    return try await transport.send(
      request, options: TransferOptions(to: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: true))))
  }
}
