public import PosternKit

/// The code of proto-docs/swift.md over PosternKit: a test compares the page with these files, others run them.
public struct Shop: Sendable {
  /// The program's one Postern.
  public let postern: Postern

  /// The examples over `postern`.
  public init(_ postern: Postern) { self.postern = postern }

  /// A program whose configuration is a value.
  public static func anonymous(baseURL: String) async throws -> String {
    let postern = try await Postern(configuration: [
      "resources": ["time": ["baseUrl": .string(baseURL), "auth": "none"]],
      "development": ["plainHTTPOnLoopback": true],
    ])
    let response = try await postern.fetch("text", from: "time")
    await postern.close()
    return response.text ?? ""
  }

  /// A request with the application's own token.
  public func jobs() async throws(ResourceError) -> ResourceResponse {
    let response = try await postern.fetch("orders", from: "jobs")
    return response
  }

  /// A response's body in three forms; nil where the server has rejected the request.
  public func orderNumbers() async throws -> [String]? {
    struct Orders: Decodable {
      struct Order: Decodable { let id: String }
      let orders: [Order]
    }
    let response = try await postern.fetch("orders", from: "jobs")
    guard response.status == 200 else {
      print(response.status, response.fields["Content-Type"] ?? "", response.text ?? "no text")
      return nil
    }
    let first = try response.json()["orders"]?.arrayValue?.first?["id"]?.stringValue
    let all = try response.decode(Orders.self).orders.map(\.id)
    return first == all.first ? all : nil
  }

  /// The outcome of a user's fetch, in words.
  public func explained(_ session: SessionHandle?) async -> String {
    do throws(ResourceError) {
      return "status \(try await postern.fetch("orders", from: "orders", session: session).status)"
    } catch {
      switch error.code {
      case .notAuthenticated, .sessionNotFound: return "log in first"
      case .deviceNotAuthenticated: return "check client id, secret and scope: \(error.detail)"
      case .requestCancelled: return "cancelled"
      default:
        let isUnsent = error.outcome == .notSent
        return isUnsent ? "nothing was sent: \(error)" : "the server may have seen it: \(error)"
      }
    }
  }

  /// The configuration again, after its file was changed; then the end.
  public func reloaded() async -> String {
    do throws(ConfigurationProblems) {
      try postern.reload()
    } catch {
      for problem in error.problems { print(problem) }
    }
    await postern.close()
    return postern.warnings.joined(separator: "\n")
  }
}
