public import AuthEngine
public import Foundation
public import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension HTTPURL {
  /// The URL that Foundation has as `url`, parsed by the rules of `HTTPURL`: Foundation accepts more, and a fragment is
  /// dropped.
  public init(_ url: URL) throws(HTTPURLError) { try self.init(url.absoluteString) }
}

extension URL {
  /// The same URL for Foundation.
  public init(_ url: HTTPURL) {
    guard let same = URL(string: url.description) else {
      preconditionFailure("Foundation rejects a URL that follows RFC 3986")
    }
    self = same
  }
}

extension TokenManagementPolicy {
  /// A policy for the URLs under `validatingURL`, Foundation's as in the mobile SDKs; throws where one of them breaks
  /// the rules of `HTTPURL`.
  @_disfavoredOverload
  public init(
    validatingURL: [URL], delegate: (any TokenManagementPolicyDelegate)? = nil, refreshOn: Set<Int>? = nil,
    allowsPlainHTTPOnLoopback: Bool = false, whenNoSession: MissingSession = .fail
  ) throws(HTTPURLError) {
    self.init(
      validatingURL: try validatingURL.map { url throws(HTTPURLError) in try HTTPURL(url) }, delegate: delegate,
      refreshOn: refreshOn, allowsPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback, whenNoSession: whenNoSession)
  }
}

extension AuthorizationPolicy {
  /// A policy for the URLs under `validatingURL`, Foundation's as in the mobile SDKs; throws where one of them breaks
  /// the rules of `HTTPURL`.
  @_disfavoredOverload
  public init(
    validatingURL: [URL], delegate: (any AuthorizationPolicyDelegate)? = nil, accessManager: HTTPURL? = nil,
    allowsPlainHTTPOnLoopback: Bool = false
  ) throws(HTTPURLError) {
    self.init(
      validatingURL: try validatingURL.map { url throws(HTTPURLError) in try HTTPURL(url) }, delegate: delegate,
      accessManager: accessManager, allowsPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback)
  }
}

extension ResourceResponse {
  /// The response's status, fields and URL as a `URLSession` has them: several fields of one name are joined (RFC 9110
  /// section 5.3). The body is `data`.
  public var httpURLResponse: HTTPURLResponse { .head(head, fields.lines) }

  /// The response without its body.
  var head: HTTPResponseHead { HTTPResponseHead(status: status, reason: reason, url: url, fields: fields) }

  /// The body; empty where it was delivered in pieces.
  public var data: Data { Data(body) }
}

extension HTTPURLResponse {
  /// The field for challenges of a 401 that `URLSession` must not see; see `fields(of:)`.
  static let withheldChallenges = "Postern-WWW-Authenticate"

  /// The head of a response as a session may have it.
  static func forSession(_ response: HTTPResponseHead) -> HTTPURLResponse { head(response, fields(of: response)) }

  /// The head of a response with the given fields.
  fileprivate static func head(_ response: HTTPResponseHead, _ lines: [HTTPFields.Field]) -> HTTPURLResponse {
    var fields: [String: String] = [:]
    var names: [String: String] = [:]
    for line in lines {
      let name = names[line.name.lowercasedASCII(), default: line.name]
      names[line.name.lowercasedASCII()] = name
      fields[name] = fields[name].map { "\($0), \(line.value)" } ?? line.value
    }
    let head = HTTPURLResponse(
      url: URL(response.url), statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields)
    guard let head else { preconditionFailure("Foundation makes a response of any status and fields") }
    return head
  }

  /// Returns the answer's fields. A 401 with a Basic challenge makes swift-corelibs-foundation handle the task itself:
  /// it never ends where there is no credential, and where there is one the task retries the request without the
  /// engine. So such a challenge gets another field name.
  private static func fields(of response: HTTPResponseHead) -> [HTTPFields.Field] {
    #if canImport(FoundationNetworking)
      guard response.status == 401 else { return response.fields.lines }
      return response.fields.lines.map { line in
        guard line.name.hasSameASCIILetters(as: "WWW-Authenticate"), requiresPassword(line.value) else { return line }
        return HTTPFields.Field(name: withheldChallenges, value: line.value)
      }
    #else
      return response.fields.lines
    #endif
  }

  /// Whether Foundation could read a Basic challenge in `value`: it looks behind each comma, in quotes or not.
  private static func requiresPassword(_ value: String) -> Bool {
    value.utf8.split(separator: UInt8(ascii: ",")).contains { part in
      let text = part.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      return text.prefix(5).map { $0 | 0x20 }.elementsEqual("basic".utf8)
    }
  }
}
