import AuthEngine
public import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
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

extension URLRequest {
  /// The request with `body`, for any task behind `PosternURLProtocol`: on Linux Foundation shows a protocol no body
  /// that an upload task has of its own.
  public func uploading(_ body: Data) -> URLRequest {
    var request = self
    request.httpBody = body
    return request
  }

  /// The same with the contents of a file, which is read when the request is sent, for one task. Throws where there is
  /// no file.
  public func uploading(fileAt url: URL) throws(URLError) -> URLRequest {
    let size = try? FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int64
    guard let size, let stream = InputStream(url: url) else {
      throw URLError(.fileDoesNotExist, detail: "the file to upload cannot be read")
    }
    var request = self
    request.httpBodyStream = stream
    request.setValue("\(size)", forHTTPHeaderField: "Content-Length")
    return request
  }
}

extension Duration {
  /// The timeout of a session's request, where it has one.
  static func bounding(_ seconds: TimeInterval) -> Duration {
    guard seconds > 0, seconds.isFinite else { return ResourceServer.maxTimeout }
    return min(.seconds(seconds), ResourceServer.maxTimeout)
  }
}
