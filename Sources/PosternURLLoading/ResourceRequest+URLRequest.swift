import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResourceRequest {
  /// The fields that `URLSession` adds to requests for a connection that it does not make here.
  private static let sessionFields: Set<String> = [
    "accept-encoding", "connection", "content-length", "host", "keep-alive", "user-agent",
  ]

  /// The request of a URL session, with its body.
  init(_ request: URLRequest, body: Data?) {
    var headers = HTTPFields()
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key })
    where !Self.sessionFields.contains(name.lowercasedASCII()) {
      headers.append(name, value)
    }
    self.init(
      path: request.url?.absoluteString ?? "", method: request.httpMethod ?? "GET", body: body.map(Array.init),
      headers: headers)
  }
}

extension Duration {
  /// The timeout of a session's request, where it has one.
  static func bounding(_ seconds: TimeInterval) -> Duration {
    guard seconds > 0, seconds.isFinite else { return ResourceServer.maxTimeout }
    return min(.seconds(seconds), ResourceServer.maxTimeout)
  }
}
